// The canonical load: one radio talks, 500 listen; our relay beside the bare engine, turn by turn.
import { compare } from '../comparison.js';
import { generate } from '../generator.js';
import type { Contest, ContestTask, Load } from '../loads/contest.js';
import type { Bench, Report } from '../scenario.js';
import { withBare, withRelay } from '../server.js';
import { enlist } from '../users.js';

/** Ten seconds for each server, in turns of 100 ms: the pauses between them are no silence that ends a burst. */
const LOAD: Load = {
  listeners: 500,
  probeEvery: 20,
  framesPerSecond: 50,
  payloadBytes: 60,
  turnFrames: 5,
  turns: 100,
};
/** No limit is raised. A line per connection would push out of the log's end what matters when a server fails. */
const SETTINGS = { LOG_LEVEL: 'warn' };
/** Per delivery, the relay may use so much of the CPU time that the bare engine uses. */
const TARGET = 1.05;

export function oneTalker500({ cores, signal }: Bench): Promise<Report> {
  const options = { cores: cores.server, signal };
  return withRelay({ ...options, settings: SETTINGS }, (relay) =>
    withBare(options, async (bare) => {
      const users = await enlist(relay, { users: LOAD.listeners + 1 });
      const peers = [relay, bare].map(({ url, greets, pid }) => ({ url, greets, pid }));
      const contest = await generate<ContestTask, Contest>(
        new URL('../loads/contest.js', import.meta.url),
        { peers, users, load: LOAD },
        { cores: cores.generator, signal },
      );
      const { lines, result } = compare(contest, { peers: ['relay', 'bare engine'], target: TARGET });
      return {
        lines: [...lines, 'limits raised: none'],
        result: { load: LOAD, settings: SETTINGS, ...result },
      };
    }),
  );
}
