// A further process of a contest's generator: a crowd that the process with the talkers leads (stage.ts).
import { type Answer, assembleCrowd, type CrowdSetup, type Cue, follow } from '../../radios/listeners.js';
import { perform } from '../player.js';
import { fail } from '../task.js';

perform<CrowdSetup, Cue, Answer, null>(async (setup) => {
  const crowd = await assembleCrowd(setup, fail);
  return { play: (cue) => follow(crowd, cue), end: () => Promise.resolve(null) };
});
