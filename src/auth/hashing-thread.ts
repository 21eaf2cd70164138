// Runs the hashing thread: one job at a time, with a lower priority than the other threads.
import { parentPort } from 'node:worker_threads';
import { hashSync, verifySync } from '@node-rs/bcrypt';
import { standBack } from '../priority.js';
import type { Job, Outcome } from './hashing.js';

/** About a third of what another thread gets of a core that both want. Nothing less while it is free. */
standBack(5);

const port = parentPort;
if (port === null) throw new Error('the hashing thread is started by hashing.ts');

port.on('message', (job: Job) => port.postMessage(outcomeOf(job)));

function outcomeOf(job: Job): Outcome {
  try {
    return {
      answer: job.kind === 'hash' ? hashSync(job.password, job.cost) : verifySync(job.password, job.stored),
    };
  } catch (error) {
    return { error: error as Error }; // bcrypt throws nothing else
  }
}
