// Runs the hashing thread: one job at a time, with a lower priority than the other threads.
import { getPriority, setPriority } from 'node:os';
import { parentPort } from 'node:worker_threads';
import { hashSync, verifySync } from '@node-rs/bcrypt';
import type { Job, Outcome } from './hashing.js';

/** Five steps of nice: about a third of what another thread gets of a core that both want; nothing while it is free. */
const STEPS_BACK = 5;
const LOWEST = 19;
// Linux keeps a priority for each thread, and 0 is the one that asks; elsewhere it would be the whole process's.
if (process.platform === 'linux') standBack();

const port = parentPort;
if (port === null) throw new Error('the hashing thread is started by hashing.ts');

port.on('message', (job: Job) => port.postMessage(outcomeOf(job)));

function standBack(): void {
  try {
    setPriority(0, Math.min(LOWEST, getPriority(0) + STEPS_BACK));
  } catch {
    // Expected where system calls are filtered: then it hashes like any other thread.
  }
}

function outcomeOf(job: Job): Outcome {
  try {
    return {
      answer: job.kind === 'hash' ? hashSync(job.password, job.cost) : verifySync(job.password, job.stored),
    };
  } catch (error) {
    return { error: error as Error }; // bcrypt throws nothing else
  }
}
