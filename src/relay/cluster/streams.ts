// Keeps a stream for each talkgroup with receivers here: joins with the first one, leaves after the last.
import type { Talkgroup } from '../members/members.js';
import { Listing } from './listing.js';
import { Losses } from './losses.js';
import { NumberedQuestions } from './question.js';
import type { StreamServices } from './services.js';
import { Stream } from './stream.js';

/** A talkgroup without sessions is kept this long (ms) for one whose handshake waits. */
const ARRIVAL_MS_MAX = 1000;
/** A relay that has not said what it has of a talkgroup is asked again after this time (ms). */
const AGAIN_MS = 25;
/** Its answer is not waited for any longer than this (ms): fifty round trips. */
const ANSWERS_MS_MAX = 100;

export interface StreamsOptions extends StreamServices {
  /** The numbers of the messages follow this one. */
  readonly lastSeq: number;
  /** Whether the bus carries messages to some relays. */
  readonly isUp: () => boolean;
  /** The relays that can be reached. */
  readonly up: () => readonly number[];
  /** Hears what the others say about the talkgroup. The answer ends it. */
  readonly listen: (stream: Stream) => () => void;
  /** Calls `act` in the next turn of the loop. */
  readonly later: (act: () => void) => void;
  /** Says to every relay which talkgroups have receivers here. */
  readonly list: (listing: Uint8Array) => void;
}

interface Joined {
  readonly stream: Stream;
  /** Ends the subscription. */
  readonly stop: () => void;
  /** It is not left before (monotonic ms). */
  keptUntilMs: number;
}

export type Streams = ReturnType<typeof createStreams>;

export function createStreams(options: StreamsOptions) {
  const { fanout, floors, clock, ask, isUp, up, listen, list } = options;
  const joined = new Map<number, Joined>();
  /** Talkgroups where sessions came or went since the last tick, or are expected. */
  const changing = new Set<Stream>();
  const answers = new NumberedQuestions(clock, AGAIN_MS);
  const listing = new Listing();
  const losses = new Losses(streams, options.later);
  /** The greatest number of a message about a talkgroup that was left: none is used twice. */
  let { lastSeq } = options;

  function* streams(): Iterator<Stream> {
    for (const { stream } of joined.values()) yield stream;
  }

  function join(talkgroup: Talkgroup): Joined {
    const stream = new Stream(options, talkgroup, lastSeq);
    const one = { stream, stop: listen(stream), keptUntilMs: Number.NEGATIVE_INFINITY };
    joined.set(talkgroup.number, one);
    const { number } = talkgroup;
    const askOne = (other: number) => ask(other, number);
    if (isUp()) void answers.ask(number, up(), ANSWERS_MS_MAX, askOne);
    else up().forEach(askOne);
    return one;
  }

  function leave({ stream, stop }: Joined): void {
    const { number } = stream.talkgroup;
    changing.delete(stream);
    joined.delete(number);
    answers.end(number);
    stream.close();
    lastSeq = Math.max(lastSeq, stream.lastSeq);
    stop();
  }

  /** undefined: no session here gets its events. */
  function of(talkgroup: Talkgroup): Stream | undefined {
    const stream = joined.get(talkgroup.number)?.stream;
    return stream?.talkgroup === talkgroup ? stream : undefined;
  }

  /** The stream of the talkgroup. The last member may have left memory, and another one come: that is another object. */
  function joinedTo(talkgroup: Talkgroup): Joined {
    const known = joined.get(talkgroup.number);
    if (known?.stream.talkgroup === talkgroup) return known;
    if (known !== undefined) leave(known);
    return join(talkgroup);
  }

  return {
    of,
    /** undefined: the talkgroup with this number has no receivers here. */
    at: (number: number): Stream | undefined => joined.get(number)?.stream,
    numbers: (): Iterable<number> => joined.keys(),

    /** Sessions are about to come. Resolves when the other relays have said what they have. null: they have already. */
    expect(talkgroups: readonly Talkgroup[]): Promise<void> | null {
      if (!isUp() || up().length === 0) return null;
      const at = clock.nowMs();
      for (const talkgroup of talkgroups) {
        if (of(talkgroup) !== undefined) continue;
        const one = joinedTo(talkgroup);
        one.keptUntilMs = at + ARRIVAL_MS_MAX;
        changing.add(one.stream);
      }
      const open = talkgroups.flatMap(({ number }) => answers.answersTo(number) ?? []);
      return open.length === 0 ? null : Promise.all(open).then(() => {});
    },

    /** The relay has said what it has of this talkgroup. */
    answered: (relay: number, number: number) => answers.answered(relay, number, null),

    came(talkgroup: Talkgroup): void {
      changing.add(joinedTo(talkgroup).stream.moved());
    },

    went(talkgroup: Talkgroup): void {
      const stream = of(talkgroup);
      if (stream !== undefined) changing.add(stream.moved());
    },

    /** A relay ends soon, or goes on. */
    changed(): void {
      for (const { stream } of joined.values()) stream.connect();
    },

    /** The relay is down, or has ended. */
    drop(relay: number): void {
      answers.forget(relay);
      losses.add(relay);
    },

    /** The relay is up. */
    add: (relay: number) => losses.finish(relay),

    /** The relay has receivers of the talkgroup, and its last message about it had this number. */
    listed(relay: number, number: number, seq: number, at: number): void {
      joined.get(number)?.stream.listed(relay, seq, at);
    },

    /** Tells the others how many sessions there are now and what they may have lost, and asks about what is missing here. */
    tick(at: number): void {
      for (const stream of [...changing]) {
        const one = joinedTo(stream.talkgroup);
        const isOnline = fanout.onlineHere(stream.talkgroup.feed) > 0;
        // The last session left, and may come back while it has something of the floor.
        const isUsed = floors.isUsed(stream.talkgroup) || stream.out.hasGiven(at);
        const isKept = isUsed || at < one.keptUntilMs;
        if (isOnline || isKept) stream.tellCount();
        else leave(one);
        if (isOnline || !isKept) changing.delete(stream);
      }
      for (const [number, { stream }] of joined) {
        if (stream.isShared) stream.watch(at);
        listing.offer(number, stream.lastSeq);
      }
      for (const message of listing.next()) list(message);
    },

    figures() {
      let [shared, elsewhere] = [0, 0];
      const homes = { here: 0, elsewhere: 0 };
      for (const { stream } of joined.values()) {
        const { feed, floorMode } = stream.talkgroup;
        elsewhere += feed.onlineElsewhere;
        if (!stream.isShared) continue;
        shared++;
        if (floorMode !== 'open') homes[stream.home === options.relay ? 'here' : 'elsewhere']++;
      }
      return { talkgroups: joined.size, shared, elsewhere, homes };
    },

    close(): void {
      answers.close();
      for (const one of [...joined.values()]) leave(one);
    },
  };
}
