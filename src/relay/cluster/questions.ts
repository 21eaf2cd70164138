// Asks single relays about talkgroups, and answers what they ask: what runs there, and which members they have.

import type { Clock, Timer } from '../clock.js';
import type { Talkgroup } from '../members/members.js';
import { piecesOf } from '../nodes/body.js';
import { type Kind, kinds } from '../nodes/header.js';
import type { SharedAuthority } from '../shared-floor/authority.js';
import { Asking } from './asking.js';
import { bodyOfPiece, type Here, type Hold, readBody } from './bodies.js';
import type { Members } from './members.js';
import type { Moves } from './moves/moves.js';
import type { Stream } from './stream.js';

/** Time (ms) between two parts of the questions. */
const PART_MS = 10;
/** JSON of the answers in one turn (characters), but for one that is longer. */
const TOLD_BYTES = 64 * 1024;

export interface QuestionsOptions {
  /** undefined: the talkgroup with this number has no receivers here. */
  readonly streamOf: (number: number) => Stream | undefined;
  readonly members: Members;
  readonly moves: Moves;
  readonly floors: SharedAuthority;
  /** Says something to one relay. */
  readonly say: (relay: number, kind: Kind, body: Uint8Array) => void;
  /** Calls `act` at the end of this turn of the loop. */
  readonly later: (act: () => void) => void;
  /** The relay has said what it has of this talkgroup. */
  readonly answered: (relay: number, number: number) => void;
  readonly clock: Clock;
}

export type Questions = ReturnType<typeof createQuestions>;

export function createQuestions(options: QuestionsOptions) {
  const { streamOf, members, moves, floors, say, later, answered, clock } = options;
  const { nowMs } = clock;
  const asking = new Asking();
  const telling = new Map<number, Set<number>>();
  let timer: Timer | null = null;
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
    if (!isArmed) timer = clock.after(ms, () => later(askNow));
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

  /** About the floor of a talkgroup, which has receivers at the other relay. */
  function onFloor<Body>(
    act: (talkgroup: Talkgroup, from: number, body: Body, nowMs: number) => void,
    from: number,
  ): (body: Body & { readonly number: number }) => void {
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

    /** A message to this relay alone. false: it cannot be read. */
    receive(relay: number, kind: number, body: Uint8Array): boolean {
      switch (kind) {
        case kinds.hold:
          return read('hold', body, (hold) => tellHere(relay, hold));
        case kinds.here:
          return read('here', body, (here) => learnHere(relay, here));
        case kinds.membersAsked:
          return read('membersAsked', body, (asked) =>
            members.tell(relay, streamOf(asked.number)?.talkgroup ?? null, asked),
          );
        case kinds.membersTold:
          return read('membersTold', body, (told) => members.answered(relay, told));
        case kinds.part:
          return read('part', body, onFloor(floors.receivePart, relay));
        case kinds.verdicts:
          return read('verdicts', body, onFloor(floors.receiveVerdicts, relay));
        case kinds.want:
          return read('want', body, onFloor(floors.wanted, relay));
        case kinds.find:
          return read('wanted', body, (wanted) => moves.tellWhere(relay, wanted));
        case kinds.take:
          return read('wanted', body, (wanted) => moves.give(relay, wanted));
        case kinds.found:
          return read('found', body, (found) => moves.found(relay, found));
        case kinds.taken:
          return read('taken', body, (taken) => moves.taken(relay, taken));
        default:
          return false;
      }
    },

    /** The relay is down. */
    forget(relay: number): void {
      asking.forget(relay);
      telling.delete(relay);
      members.forget(relay);
      moves.forget(relay);
    },

    close(): void {
      if (timer !== null) clock.stop(timer);
      members.close();
      moves.close();
    },
  };
}
