// Loaded before the service (node --import): from SIGWINCH (which nothing else uses) on, a timer of the main thread throws again and again.
import { isMainThread } from 'node:worker_threads';

if (isMainThread) {
  process.once('SIGWINCH', () => {
    setInterval(() => {
      throw new Error('an error that repeats');
    }, 20);
  });
}
