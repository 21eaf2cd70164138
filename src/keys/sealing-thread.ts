// Runs the sealing thread: encrypts epoch secrets for key holders (HPKE), one job at a time, with a lower priority.
import { getPriority, setPriority } from 'node:os';
import { parentPort } from 'node:worker_threads';
import * as hpke from 'hpke';
import { ENVELOPE_INFO } from '../protocol/encryption.js';
import type { Sealed, SealJob, SealOutcome } from './sealing.js';

/** As the hashing thread: about a third of what another thread gets of a core that both want. */
const STEPS_BACK = 5;
const LOWEST = 19;
// Linux keeps a priority for each thread, and 0 is the one that asks. Elsewhere it would be that of the whole process.
if (process.platform === 'linux') standBack();

const suite = new hpke.CipherSuite(
  hpke.KEM_DHKEM_P256_HKDF_SHA256,
  hpke.KDF_HKDF_SHA256,
  hpke.AEAD_AES_256_GCM,
);

const port = parentPort;
if (port === null) throw new Error('the sealing thread is started by sealing.ts');

// The queue of sealing.ts sends the next job after the outcome, so outcomes keep the order of the jobs.
port.on('message', async (job: SealJob) => port.postMessage(await outcomeOf(job)));

function standBack(): void {
  try {
    setPriority(0, Math.min(LOWEST, getPriority(0) + STEPS_BACK));
  } catch {
    // Expected where system calls are filtered: then it seals like any other thread.
  }
}

async function outcomeOf({ publicKey, items }: SealJob): Promise<SealOutcome> {
  try {
    const key = await suite.DeserializePublicKey(publicKey);
    const sealed: Sealed[] = [];
    for (const { secret, aad } of items) {
      const { encapsulatedSecret, ciphertext } = await suite.Seal(key, secret, { aad, info: ENVELOPE_INFO });
      sealed.push({ enc: encapsulatedSecret, sealed: ciphertext });
    }
    return { sealed };
  } catch {
    // Its text could name bytes of the input. The key was checked when it was registered, so this is a defect.
    return { failed: true };
  }
}
