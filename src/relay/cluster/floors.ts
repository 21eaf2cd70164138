// Decides floors together with the other relays: tells them what the shared floors say.
import type { Clock } from '../clock.js';
import type { Talkgroup } from '../members/members.js';
import { bodyOf } from '../nodes/body.js';
import { type Kind, kinds } from '../nodes/header.js';
import { createSharedAuthority } from '../shared-floor/authority.js';
import { CLAIMS_MAX } from '../shared-floor/bodies.js';
import { NO_TURNS } from '../shared-floor/link.js';
import { createRepeats } from '../shared-floor/repeats.js';
import type { SharedOptions } from '../shared-floor/state.js';
import type { Settings } from './bodies.js';
import type { Stream } from './stream.js';

export interface FloorsOptions extends Omit<SharedOptions, 'link'> {
  /** Id of this relay. */
  readonly relay: number;
  /** undefined: no session here gets the events of the talkgroup. */
  readonly streamOf: (talkgroup: Talkgroup) => Stream | undefined;
  /** Says something to one relay. */
  readonly say: (relay: number, kind: Kind, body: Uint8Array) => void;
  /** Asks one relay what it has of the talkgroup: it may have no receivers any more, and its word for that may be lost. */
  readonly ask: (relay: number, number: number) => void;
  /** Another relay has these settings. */
  readonly settled: (talkgroup: Talkgroup, settings: Settings) => void;
  /** Times that the session of this relay with this number has moved. undefined: it is not here. */
  readonly movesOf: (session: number) => number | undefined;
  readonly clock: Clock;
  readonly log: { error(fields: object, message: string): void };
}

export function createFloors(options: FloorsOptions) {
  const { relay, streamOf, say, ask, settled, movesOf, clock, log, ...services } = options;
  const repeats = createRepeats({ floors: () => floors, clock, log });
  const floors = createSharedAuthority({
    ...services,
    link: {
      relay,
      view(talkgroup) {
        const stream = streamOf(talkgroup);
        return stream === undefined
          ? { home: relay, relays: [relay] }
          : { home: stream.home, relays: [relay, ...stream.relays] };
      },
      turns: (talkgroup) => streamOf(talkgroup)?.turns ?? NO_TURNS,
      adopt: (talkgroup, { revision, mode, maxTalkMs, encryption, mayBeClear }) =>
        settled(talkgroup, {
          ...{ revision, floor_mode: mode, max_talk_ms: maxTalkMs, encryption },
          clear_emergency: mayBeClear,
        }),
      sendPart: ({ number }, to, part) =>
        say(to, kinds.part, bodyOf({ number, ...part, claims: part.claims.slice(0, CLAIMS_MAX) })),
      sendVerdicts: ({ number }, to, verdicts) => say(to, kinds.verdicts, bodyOf({ number, ...verdicts })),
      want: ({ number }, to, settings) => say(to, kinds.want, bodyOf({ number, settings })),
      doubt: ({ number }, home) => ask(home, number),
      renewed: (talkgroup, ...renewed) => streamOf(talkgroup)?.out.renewed(...renewed),
      moves: movesOf,
      busy: repeats.busy,
    },
  });
  return { floors, repeats };
}
