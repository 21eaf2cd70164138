// Runs listeners of a contest in a further process of its generator. The process with the talkers leads it (stage.ts).
import { joinListeners, type ListenersSetup } from '../../radios/listeners.js';
import { fail, perform } from '../player.js';
import { type Answer, type Cue, follow } from '../remote-listeners.js';

perform<ListenersSetup, Cue, Answer, null>(async (setup) => {
  const listeners = await joinListeners(setup, fail);
  return { play: (cue) => follow(listeners, cue), end: () => Promise.resolve(null) };
});
