// Random histories of talks, rotations, removals, lost connections and stalls, judged by the bytes that radios sent.
import fc from 'fast-check';
import t from 'tap';
import type { Talk } from '../../src/client/radio.js';
import { burstKey, fromBase64url } from '../../src/protocol/encryption.js';
import { ENCRYPTED, END, encodeFrame, type Frame } from '../../src/protocol/frame.js';
import { nodePrimitives } from '../../src/protocol/node-primitives.js';
import {
  decodeSframeHeader,
  deriveSframeKey,
  metadataFrom,
  type SframeKey,
} from '../../src/protocol/sframe.js';
import type { Crypto, Snapshot, Talker } from '../../src/protocol/types.js';
import { alpha, fakeKeys, secretOf } from '../helpers/client/encryption.js';
import { ALPHA, type FakeSocket, fakeWorld, idOf } from '../helpers/client/fakes.js';

const RUNS = Number(process.env.PROVE_RUNS ?? 3_000) / 15;
const TALKGROUP = ALPHA.talkgroup_id;
const USERS = ['u-0', 'u-1', 'u-2'] as const;
const USE_IN_MS = 10_000;
/** TALK_SILENCE_MS of the relay, the least and the default one. */
const SILENCES_MS = [500, 2_000];
/** A silence may come so late: the talker has spoken again before it heard of it. */
const LATE_MS = 200;
/** So long the relay takes an epoch behind the use of the next one. */
const STALE_MS = 5_000;

type Burst = {
  number: number;
  crypto: Crypto;
  sequence: number;
  frames: number;
  lastAtMs: number;
  begunAtMs: number;
};
type Member = ReturnType<typeof fakeWorld> & {
  user: string;
  store: ReturnType<typeof fakeKeys>;
  isMember: boolean;
  session: number;
  talk: Talk | null;
  said: number;
  /** Read so far of the present socket. */
  read: number;
  /** What the relay has sent to it and is still on its way. */
  coming: { atMs: number; arrive: () => void }[];
  lateMs: number;
  /** A lie of the relay is on its way, or the service has not disproved it: it may miss speech. */
  isDeceived: boolean;
  announced: Crypto | null;
  burst: Burst | null;
  heard: string[];
  expected: string[];
};

/** A relay without faults, and a service that gives keys to members alone. */
function world(silenceMs: number) {
  let nowMs = 0;
  let counter = 9;
  let talkCounter = 9;
  let useAtMs = 0;
  let event = 0;
  let sessions = 100;
  let bursts = 0;
  const used = new Map<string, string>();
  const removedKeys = new Map<string, Set<number>>();
  const faults: string[] = [];
  const members: Member[] = USERS.map((user) => {
    const store = fakeKeys([9]);
    const radio = fakeWorld({ keys: store.keys });
    const member: Member = {
      ...radio,
      ...{ user, store, isMember: true, session: 0, talk: null, said: 0, read: 0, coming: [], lateMs: 0 },
      isDeceived: false,
      ...{ announced: null, burst: null, heard: [], expected: [] },
    };
    radio.radio.on('audio', ({ payload }) => {
      if (payload.length > 0) member.heard.push(Buffer.from(payload).toString());
    });
    return member;
  });
  for (const member of members) welcome(member, false);

  function snapshot(): Snapshot {
    const talkers = members.flatMap((member) => {
      const { burst } = member;
      return burst ? [{ ...talkerOf(member, burst), frames: burst.frames, sequence: burst.sequence }] : [];
    });
    return {
      ...alpha({ encryption: 'required', rotation_counter: counter, talk_counter: talkCounter }),
      ...{ use_in_ms: Math.max(0, useAtMs - nowMs), event, talkers, talkers_total: talkers.length },
    };
  }

  function talkerOf({ session, user }: Member, { number, crypto }: Burst): Talker {
    return {
      ...{ talkgroup_id: TALKGROUP, session, burst: number, user_id: idOf(user), username: user },
      ...{ priority: 1, emergency: false, crypto, started_at: '2026-01-01T00:00:00.000Z' },
    };
  }

  function welcome(member: Member, resumed: boolean): void {
    if (!resumed) {
      sessions += 1;
      member.session = sessions;
    }
    member.read = 0;
    member.socket().welcomes({
      ...{ session: member.session, user_id: idOf(member.user), resumed },
      ...{ talkgroups: member.isMember ? [snapshot()] : [], talkgroups_total: member.isMember ? 1 : 0 },
    });
    give(member);
  }

  function tell(message: Parameters<FakeSocket['says']>[0]): void {
    for (const member of members) if (member.isMember) send(member, () => member.socket().says(message));
  }

  /** One connection keeps the order, also when it is slow. */
  function send(member: Member, arrive: () => void): void {
    member.coming.push({ atMs: nowMs + member.lateMs, arrive });
    arriveAt(member, nowMs);
  }

  function arriveAt(member: Member, untilMs: number): void {
    for (let [next] = member.coming; next && next.atMs <= untilMs; [next] = member.coming) {
      member.coming.shift();
      next.arrive();
    }
  }

  function begin(member: Member, crypto: Crypto): Burst {
    bursts += 1;
    const begun = { number: bursts, crypto, sequence: 0, frames: 0, lastAtMs: nowMs, begunAtMs: nowMs };
    member.burst = begun;
    event += 1;
    tell({ type: 'TALK_STARTED', event, ...talkerOf(member, begun) });
    return begun;
  }

  function finish(member: Member, code: 'released' | 'silence' | 'disconnected'): void {
    const { burst } = member;
    if (!burst) return;
    member.burst = null;
    // Only a burst that silence ended goes on with its salt.
    if (code !== 'silence') member.announced = null;
    event += 1;
    const ids = { talkgroup_id: TALKGROUP, session: member.session, burst: burst.number };
    tell({ type: 'TALK_ENDED', event, ...ids, code, duration_ms: 0, frames: burst.frames });
  }

  /** What the radio sent since, in that order. */
  function pump(member: Member): void {
    const { sends } = member.socket();
    const news = sends.slice(member.read);
    member.read = sends.length;
    for (const sent of news) {
      if (!member.isMember) continue; // it has not heard that it was removed, and the relay refuses
      if ('payload' in sent) relay(member, sent as Frame);
      else if (sent.type === 'FLOOR_REQUEST') announce(member, sent.crypto as Crypto | undefined);
    }
  }

  function announce(member: Member, crypto: Crypto | undefined): void {
    if (crypto === undefined) return void faults.push('a request without crypto in `required`');
    // A member that a late message has not reached may still use the epoch before, or the one that it left with.
    if (crypto.epoch < talkCounter - 1 && member.coming.length === 0)
      faults.push(`epoch ${crypto.epoch} in use of ${talkCounter}`);
    if (member.burst && member.burst.crypto.salt !== crypto.salt) finish(member, 'released');
    member.announced = crypto;
  }

  function relay(member: Member, frame: Frame): void {
    const announced = member.burst?.crypto ?? member.announced;
    if ((frame.flags & ENCRYPTED) === 0) return void faults.push('a clear frame in `required`');
    if (!announced) {
      // An END that was on its way when the removal ended the burst: the relay refuses it, for nothing names its key.
      if ((frame.flags & END) === 0) faults.push('a frame without its crypto');
      return;
    }
    const burst = member.burst ?? begin(member, announced);
    const key = keyOf(member.user, burst.crypto);
    const text = key.open(metadataFrom(frame), frame.payload);
    const sealed = decodeSframeHeader(frame.payload)?.counter;
    if (!text) return void faults.push('a frame that its own key does not open');
    const use = `${burst.crypto.salt} ${sealed}`;
    if (used.has(use)) faults.push(`used twice: ${use}`);
    used.set(use, member.user);
    for (const [user, counters] of removedKeys) {
      if (counters.has(burst.crypto.epoch) && burst.begunAtMs > useAtMs + STALE_MS && !isIn(user)) {
        faults.push(`${user} was removed and can open epoch ${burst.crypto.epoch}`);
      }
    }
    burst.frames += 1;
    burst.sequence = sealed ?? 0;
    burst.lastAtMs = nowMs;
    const bytes = encodeFrame({ ...frame, sender: member.session, burst: burst.number });
    for (const other of members) {
      if (other === member || !other.isMember) continue;
      if (text.length > 0 && !other.isDeceived) other.expected.push(Buffer.from(text).toString());
      send(other, () => other.socket().delivers(bytes.slice().buffer));
    }
    if ((frame.flags & END) !== 0) finish(member, 'released');
  }

  const isIn = (user: string) => members.some((member) => member.user === user && member.isMember);

  function give(member: Member): void {
    for (const wanted of member.store.wanted.splice(0)) {
      if (!member.isMember) continue;
      if (wanted > counter) member.store.lacks(wanted, counter);
      else member.store.gives(wanted);
    }
  }

  function pass(ms: number): void {
    for (let left = ms; left > 0; left -= 20) {
      nowMs += 20;
      const isDue = nowMs % 5_000 === 0;
      if (nowMs >= useAtMs) talkCounter = counter;
      for (const member of members) {
        member.clock.pass(20);
        arriveAt(member, nowMs);
        if (isDue) member.socket().says({ type: 'PONG', t: 0, server_time: 0 });
        give(member);
        if (member.coming.length === 0) member.isDeceived = false;
        pump(member);
        if (member.burst && nowMs - member.burst.lastAtMs > silenceMs) finish(member, 'silence');
      }
    }
  }

  function rotate(): void {
    counter += 1;
    useAtMs = Math.max(nowMs + USE_IN_MS, useAtMs);
    event += 1;
    const use_in_ms = useAtMs - nowMs;
    tell({
      ...{ type: 'KEY_ROTATED', talkgroup_id: TALKGROUP, event, rotation_counter: counter },
      ...{ talk_counter: talkCounter, use_in_ms },
    });
    for (const member of members) give(member);
  }

  /** The relay announces an epoch that the service does not have, too high or used long ago. */
  function lie(announced: number): void {
    event += 1;
    const epoch = { rotation_counter: announced, talk_counter: announced, use_in_ms: 0 };
    for (const member of members) member.isDeceived = true;
    tell({ type: 'KEY_ROTATED', talkgroup_id: TALKGROUP, event, ...epoch });
    for (const member of members) give(member);
  }

  const actions = {
    press(member: Member) {
      if (!member.isMember) return;
      member.talk?.end();
      pump(member);
      // Its removal arrived late, and its join has not arrived yet.
      if (!member.radio.talkgroups.has(TALKGROUP)) return;
      member.talk = member.radio.talk({ talkgroupId: TALKGROUP });
    },
    say(member: Member) {
      if (!member.isMember) return;
      if (!member.talk) this.press(member);
      member.said += 1;
      member.talk?.send(Buffer.from(`${member.user} ${member.said}`));
      pass(20);
    },
    release(member: Member) {
      member.talk?.end();
      member.talk = null;
      pump(member);
    },
    stallBefore: () => pass(1_900),
    stallBehind: () => pass(2_100),
    stallLong: () => pass(4_000),
    pause: () => pass(silenceMs + 20),
    late(member: Member) {
      member.lateMs = member.lateMs > 0 ? 0 : LATE_MS;
    },
    wait: () => pass(USE_IN_MS + 5_000),
    rotate: () => rotate(),
    lieHigh: () => lie(counter + 500),
    lieLow: () => lie(Math.max(0, talkCounter - 2)),
    remove(member: Member) {
      if (!member.isMember || member.user === 'u-0') return;
      finish(member, 'disconnected');
      member.isMember = false;
      member.talk = null;
      send(member, () =>
        member.socket().says({ type: 'TALKGROUP_LEFT', talkgroup_id: TALKGROUP, reason: 'left' }),
      );
      removedKeys.set(member.user, new Set(member.store.there));
      rotate();
    },
    join(member: Member) {
      if (member.isMember) return;
      member.isMember = true;
      removedKeys.delete(member.user);
      const joined = { type: 'TALKGROUP_JOINED' as const, ...snapshot() };
      send(member, () => member.socket().says(joined));
      give(member);
    },
    resume(member: Member) {
      arriveAt(member, Number.POSITIVE_INFINITY);
      pump(member);
      member.socket().closes(1006);
      member.clock.pass(0);
      welcome(member, true);
      pump(member);
    },
    crash(member: Member) {
      arriveAt(member, Number.POSITIVE_INFINITY);
      pump(member);
      finish(member, 'disconnected');
      arriveAt(member, Number.POSITIVE_INFINITY);
      member.socket().closes(1006);
      member.clock.pass(0);
      welcome(member, false);
      pump(member);
    },
    stall(member: Member) {
      member.socket().bufferedAmount = member.socket().bufferedAmount > 0 ? 0 : 5_000;
    },
  };
  return { members, actions, faults, used, pass };
}

const keys = new Map<string, SframeKey>();

function keyOf(user: string, { epoch, salt }: Crypto): SframeKey {
  const name = `${user} ${epoch} ${salt}`;
  const known = keys.get(name);
  if (known) return known;
  const inputs = { secret: secretOf(epoch), salt: fromBase64url(salt) ?? new Uint8Array(), counter: epoch };
  const baseKey = burstKey(nodePrimitives, { ...inputs, talkgroupId: TALKGROUP, userId: idOf(user) });
  const key = deriveSframeKey(nodePrimitives, { baseKey, keyId: epoch % 8 });
  keys.set(name, key);
  return key;
}

const names = [
  'press',
  'say',
  'say',
  'say',
  'release',
  'pause',
  'stallBefore',
  'stallBehind',
  'stallLong',
  'late',
  'wait',
  'rotate',
  'lieHigh',
  'lieLow',
  'remove',
  'join',
  'resume',
  'crash',
  'stall',
] as const;
const step = fc.record({
  who: fc.nat(2),
  what: fc.constantFrom(...names),
  times: fc.integer({ min: 1, max: 4 }),
});

/** The END of the first talk is sent when the next one begins, behind a removal that the member has not heard of. */
const rejoined = (['say', 'late', 'remove', 'join', 'press'] as const).map((what) => ({
  who: 1,
  what,
  times: 1,
}));

t.test(
  'no counter is used twice, the removed open nothing of later epochs, the others miss nothing',
  async (t) => {
    let frames = 0;
    fc.assert(
      fc.property(
        fc.constantFrom(...SILENCES_MS),
        fc.array(step, { minLength: 5, maxLength: 60 }),
        (ms, steps) => {
          keys.clear();
          const { members, actions, faults, used, pass } = world(ms);
          for (const { who, what, times } of steps) {
            const member = members[who];
            if (!member) continue;
            for (let n = 0; n < (what === 'say' ? times * 3 : 1); n += 1) actions[what](member);
          }
          for (const member of members) Object.assign(member, { lateMs: 0 }).socket().bufferedAmount = 0;
          pass(1_000);
          for (const { user, heard, expected } of members) {
            const missed = expected.filter((text) => !heard.includes(text));
            if (missed.length > 0) faults.push(`${user} missed ${missed}`);
            if (new Set(heard).size < heard.length) faults.push(`${user} heard something twice`);
          }
          frames += used.size;
          if (faults.length > 0) throw new Error(faults.join('\n'));
        },
      ),
      { numRuns: RUNS, examples: [[500, rejoined]] },
    );
    t.ok(frames > 0, `${frames} frames`);
  },
);
