// Runs the sealing thread: encrypts secrets for key holders (HPKE), one job at a time, with a lower priority.
import { parentPort } from 'node:worker_threads';
import { standBack } from '../priority.js';
import { sealLetter } from './envelope.js';
import type { SealJob, SealOutcome } from './sealing.js';

/** As the hashing thread: about a third of what another thread gets of a core that both want. */
standBack(5);

const port = parentPort;
if (port === null) throw new Error('the sealing thread is started by sealing.ts');

port.on('message', (job: SealJob) => port.postMessage(outcomeOf(job)));

function outcomeOf({ publicKey, info, items }: SealJob): SealOutcome {
  try {
    return {
      sealed: items.map(({ secret, aad }) => sealLetter({ publicKey, plaintext: secret, aad }, { info })),
    };
  } catch {
    // Its text could name bytes of the input. The key was checked when it was registered, so this is a defect.
    return { failed: true };
  }
}
