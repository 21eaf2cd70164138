// Asks single relays about talkgroups, and answers what they ask: what runs there, and which members they have.
import { Asking } from './asking.js';
import { MemberAsks } from './asks.js';
import {
  bodyOf,
  bodyOfPiece,
  type Here,
  type Hold,
  MEMBERS_TOLD_MAX,
  type MembersAsked,
  type MembersTold,
  piecesOf,
  readBody,
} from './bodies.js';
import { type Kind, kinds } from './header.js';
import type { Moves } from './moves/moves.js';
import type { Shared, Stage } from './stage.js';
import type { Stream } from './stream.js';

/** Time (ms) between two parts of the questions. */
const PART_MS = 10;
/** JSON of the answers in one turn (characters), but for one that is longer. */
const TOLD_BYTES = 64 * 1024;

export interface QuestionsOptions<Talkgroup extends Shared> {
  /** undefined: the talkgroup with this number has no receivers here. */
  readonly streamOf: (number: number) => Stream<Talkgroup> | undefined;
  readonly page: Stage<Talkgroup>['page'];
  readonly moves: Moves;
  readonly floor: Stage<Talkgroup>['floor'];
  /** Says something to one relay. */
  readonly say: (relay: number, kind: Kind, body: Uint8Array) => void;
  /** Calls `act` at the end of this turn of the loop. */
  readonly later: (act: () => void) => void;
  /** The relay has said what it has of this talkgroup. */
  readonly answered: (relay: number, number: number) => void;
  readonly nowMs: () => number;
}

export function createQuestions<Talkgroup extends Shared>(options: QuestionsOptions<Talkgroup>) {
  const { streamOf, page, moves, floor, say, later, answered, nowMs } = options;
  const asking = new Asking();
  const telling = new Map<number, Set<number>>();
  const memberAsks = new MemberAsks((relay, body) => say(relay, kinds.membersAsked, body));
  let timer: NodeJS.Timeout | null = null;
  let isArmed = false;
  let isTelling = false;

  /** One part of what is to be asked. The rest follows, so that no relay is busy with questions alone. */
  function askNow(): void {
    isArmed = false;
    for (const [relay, numbers] of asking.take(nowMs())) {
      const held: string[] = [];
      for (const number of numbers) {
        const stream = streamOf(number);
        if (stream === undefined) asking.answered(relay, number);
        else held.push(JSON.stringify(stream.held));
      }
      for (const piece of piecesOf(held)) say(relay, kinds.hold, bodyOfPiece(piece));
    }
    if (asking.isWaiting) arm(PART_MS);
  }

  function arm(ms: number): void {
    if (!isArmed) timer = setTimeout(() => later(askNow), ms);
    isArmed = true;
  }

  /** One answer for each talkgroup, however often it is asked about before that leaves. */
  function tellHere(relay: number, { talkgroups }: Hold): void {
    const none = new Set<number>();
    const numbers = telling.get(relay) ?? new Set();
    for (const entry of new Map(talkgroups.map((entry) => [entry.number, entry])).values()) {
      const stream = streamOf(entry.number);
      if (stream === undefined) none.add(entry.number);
      else {
        stream.asked(relay, entry);
        numbers.add(entry.number);
      }
    }
    if (none.size > 0) say(relay, kinds.here, bodyOfPiece([], [...none]));
    if (numbers.size === 0) return;
    telling.set(relay, numbers);
    if (!isTelling) later(tellNow);
    isTelling = true;
  }

  /** It follows what was said before: a relay that hears the answer has heard that. One message in each turn. */
  function tellNow(): void {
    isTelling = false;
    const [first] = telling;
    if (first === undefined) return;
    const [relay, numbers] = first;
    telling.delete(relay);
    const texts: string[] = [];
    let bytes = 0;
    for (const number of numbers) {
      if (bytes >= TOLD_BYTES) break;
      numbers.delete(number);
      const stream = streamOf(number);
      if (stream === undefined) continue; // its bye has been said
      const text = JSON.stringify(stream.here);
      bytes += text.length;
      texts.push(text);
    }
    for (const piece of piecesOf(texts)) say(relay, kinds.here, bodyOfPiece(piece, []));
    if (numbers.size > 0) telling.set(relay, numbers); // behind the others
    isTelling = telling.size > 0;
    if (isTelling) later(tellNow);
  }

  function learnHere(relay: number, { talkgroups, none }: Here): void {
    for (const entry of talkgroups) streamOf(entry.number)?.answered(relay, entry, nowMs());
    for (const number of none) streamOf(number)?.drop(relay);
    for (const number of [...talkgroups.map(({ number }) => number), ...none]) {
      asking.answered(relay, number);
      answered(relay, number);
    }
  }

  function tellMembers(relay: number, { ask, number, after, limit }: MembersAsked): void {
    const stream = streamOf(number);
    // A longer page may not fit in a message.
    const most = Math.min(limit, MEMBERS_TOLD_MAX);
    const { members, next } = stream ? page(stream.talkgroup, after, most) : { members: [], next: null };
    const told: MembersTold = { ask, members: [...members], more: next !== null };
    say(relay, kinds.membersTold, bodyOf(told));
  }

  /** About the floor of a talkgroup, which has receivers at the other relay. */
  function about<Body extends { readonly number: number }>(
    act: (talkgroup: Talkgroup, from: number, body: Body, nowMs: number) => void,
    from: number,
  ): (body: Body) => void {
    return (body) => {
      const stream = streamOf(body.number);
      if (stream === undefined) return say(from, kinds.here, bodyOfPiece([], [body.number]));
      stream.meet(from);
      act(stream.talkgroup, from, body, nowMs());
    };
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
    /** Asks the relay what it has of this talkgroup, before what `askAll` has put off. */
    ask(relay: number, number: number): void {
      if (!isArmed) later(askNow);
      isArmed = true;
      asking.add(relay, number);
    },

    /** Asks the relay what it has of these talkgroups, one part after the other. */
    askAll(relay: number, numbers: Iterable<number>): void {
      asking.addLater(relay, numbers);
      arm(0);
    },

    /** Asks once more what was not answered. */
    tick(): void {
      asking.repeat(nowMs());
      if (asking.isWaiting) arm(0);
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
        case kinds.part:
          return read('part', body, about(floor.part, relay));
        case kinds.verdicts:
          return read('verdicts', body, about(floor.verdicts, relay));
        case kinds.want:
          return read('want', body, about(floor.wanted, relay));
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
      asking.forget(relay);
      telling.delete(relay);
      moves.forget(relay);
    },

    close(): void {
      if (timer !== null) clearTimeout(timer);
      memberAsks.close();
      moves.close();
    },
  };
}
