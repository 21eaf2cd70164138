// Asks single relays about talkgroups, and answers what they ask: what runs there, and which members they have.
import { MemberAsks } from './asks.js';
import {
  bodyOf,
  bodyOfPiece,
  type Here,
  type Hold,
  type MembersAsked,
  type MembersTold,
  piecesOf,
  readBody,
} from './bodies.js';
import { type Kind, kinds } from './header.js';
import type { Moves } from './moves.js';
import type { Shared, Stage } from './stage.js';
import type { Stream } from './stream.js';

export interface QuestionsOptions<Talkgroup extends Shared> {
  /** undefined: the talkgroup with this number has no receivers here. */
  readonly streamOf: (number: number) => Stream<Talkgroup> | undefined;
  readonly page: Stage<Talkgroup>['page'];
  readonly moves: Moves;
  /** Says something to one relay. */
  readonly say: (relay: number, kind: Kind, body: Uint8Array) => void;
  /** Calls `act` at the end of this turn of the loop. */
  readonly later: (act: () => void) => void;
  /** The relay has said what it has of this talkgroup. */
  readonly answered: (relay: number, number: number) => void;
  readonly nowMs: () => number;
}

export function createQuestions<Talkgroup extends Shared>(options: QuestionsOptions<Talkgroup>) {
  const { streamOf, page, moves, say, later, answered, nowMs } = options;
  /** By relay the talkgroups to ask about at the end of this turn. */
  const asking = new Map<number, Set<number>>();
  const memberAsks = new MemberAsks((relay, body) => say(relay, kinds.membersAsked, body));

  function askNow(): void {
    const asked = [...asking];
    asking.clear();
    for (const [relay, numbers] of asked) {
      const held = [...numbers].flatMap((number) => streamOf(number)?.held ?? []);
      for (const piece of piecesOf(held.map((each) => JSON.stringify(each))))
        say(relay, kinds.hold, bodyOfPiece(piece));
    }
  }

  function tellHere(relay: number, { talkgroups }: Hold): void {
    const streams: Stream<Talkgroup>[] = [];
    const none: number[] = [];
    for (const entry of talkgroups) {
      const stream = streamOf(entry.number);
      if (stream === undefined) none.push(entry.number);
      else {
        stream.asked(relay, entry);
        streams.push(stream);
      }
    }
    // It follows what was said before: a relay that hears the answer has heard that.
    const pieces = piecesOf(streams.map((stream) => JSON.stringify(stream.here)));
    for (const piece of pieces) say(relay, kinds.here, bodyOfPiece(piece, []));
    if (none.length > 0) say(relay, kinds.here, bodyOfPiece([], none));
  }

  function learnHere(relay: number, { talkgroups, none }: Here): void {
    for (const entry of talkgroups) streamOf(entry.number)?.answered(relay, entry, nowMs());
    for (const number of none) streamOf(number)?.drop(relay);
    for (const { number } of talkgroups) answered(relay, number);
    for (const number of none) answered(relay, number);
  }

  function tellMembers(relay: number, { ask, number, after, limit }: MembersAsked): void {
    const stream = streamOf(number);
    const { members, next } = stream ? page(stream.talkgroup, after, limit) : { members: [], next: null };
    const told: MembersTold = { ask, members: [...members], more: next !== null };
    say(relay, kinds.membersTold, bodyOf(told));
  }

  /** Hands the body, read as one of this name, to `act`. false: it is none. */
  function read<Name extends Parameters<typeof readBody>[0]>(
    name: Name,
    body: Uint8Array,
    act: (read: NonNullable<ReturnType<typeof readBody<Name>>>) => void,
  ): boolean {
    const known = readBody(name, body);
    if (known !== null) act(known);
    return known !== null;
  }

  return {
    /** Asks the relay what it has of this talkgroup. All questions of a turn leave together. */
    ask(relay: number, number: number): void {
      if (asking.size === 0) later(askNow);
      const numbers = asking.get(relay) ?? new Set();
      asking.set(relay, numbers.add(number));
    },

    /** Asks these relays for a page of members each. */
    members: memberAsks.ask.bind(memberAsks),

    /** A message to this relay alone. false: it cannot be read. */
    receive(relay: number, kind: number, body: Uint8Array): boolean {
      switch (kind) {
        case kinds.hold:
          return read('hold', body, (hold) => tellHere(relay, hold));
        case kinds.here:
          return read('here', body, (here) => learnHere(relay, here));
        case kinds.membersAsked:
          return read('membersAsked', body, (asked) => tellMembers(relay, asked));
        case kinds.membersTold:
          return read('membersTold', body, (told) => memberAsks.answered(relay, told));
        case kinds.find:
          return read('wanted', body, (wanted) => moves.tellWhere(relay, wanted));
        case kinds.take:
          return read('wanted', body, (wanted) => moves.give(relay, wanted));
        case kinds.found:
          return read('found', body, (found) => moves.answered(relay, kind, found));
        case kinds.taken:
          return read('taken', body, (taken) => moves.answered(relay, kind, taken));
        default:
          return false;
      }
    },

    /** The relay is down. */
    forget(relay: number): void {
      asking.delete(relay);
      moves.forget(relay);
    },

    close(): void {
      memberAsks.close();
      moves.close();
    },
  };
}
