// Carries calls and answers between the process with the talkers and listeners in a further process.
import type { Heard, Listeners, Sent } from '../radios/listeners.js';
import type { Player } from './player.js';

/** A call of listeners in another process, and what it answers. Plain data. */
export type Cue =
  | { readonly do: 'begin'; readonly server: number }
  | { readonly do: 'settle' | 'end'; readonly server: number; readonly sent: Sent }
  | { readonly do: 'used' };
export type Answer = Heard | number | boolean | null;

/** The listeners of a player that runs loads/listeners.ts. */
export function remoteListeners({ play }: Player<Cue, Answer, null>): Listeners {
  return {
    async begin(server) {
      await play({ do: 'begin', server });
    },
    settle: (server, sent) => play({ do: 'settle', server, sent }) as Promise<boolean>, // as `follow` has it
    end: (server, sent) => play({ do: 'end', server, sent }) as Promise<Heard>,
    usedUs: () => play({ do: 'used' }) as Promise<number>,
  };
}

/** The other side: does what the cue says. */
export async function follow(listeners: Listeners, cue: Cue): Promise<Answer> {
  switch (cue.do) {
    case 'begin':
      await listeners.begin(cue.server);
      return null;
    case 'settle':
      return listeners.settle(cue.server, cue.sent);
    case 'end':
      return listeners.end(cue.server, cue.sent);
    case 'used':
      return listeners.usedUs();
  }
}
