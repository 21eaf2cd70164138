// Runs the sealing thread: encrypts epoch secrets for key holders (HPKE), one job at a time, with a lower priority.
import { getPriority, setPriority } from 'node:os';
import { parentPort } from 'node:worker_threads';
import { sealLetter } from './envelope.js';
import type { SealJob, SealOutcome } from './sealing.js';

/** As the hashing thread: about a third of what another thread gets of a core that both want. */
const STEPS_BACK = 5;
const LOWEST = 19;
// Linux keeps a priority for each thread, and 0 is the one that asks. Elsewhere it would be that of the whole process.
if (process.platform === 'linux') standBack();

const port = parentPort;
if (port === null) throw new Error('the sealing thread is started by sealing.ts');

port.on('message', (job: SealJob) => port.postMessage(outcomeOf(job)));

function standBack(): void {
  try {
    setPriority(0, Math.min(LOWEST, getPriority(0) + STEPS_BACK));
  } catch {
    // Expected where system calls are filtered: then it seals like any other thread.
  }
}

function outcomeOf({ publicKey, items }: SealJob): SealOutcome {
  try {
    return { sealed: items.map(({ secret, aad }) => sealLetter({ publicKey, plaintext: secret, aad })) };
  } catch {
    // Its text could name bytes of the input. The key was checked when it was registered, so this is a defect.
    return { failed: true };
  }
}
