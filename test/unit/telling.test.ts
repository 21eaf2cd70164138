// Snapshots in parts: their size at the worst, their order, and when the next one leaves.
import t from 'tap';
import type { EmergencyRow } from '../../src/directory/records.js';
import type { DeviceId, TalkgroupId, UserId } from '../../src/ids.js';
import type { LatestFix } from '../../src/protocol/fix.js';
import { Bursts } from '../../src/relay/floor/bursts.js';
import type { Talk } from '../../src/relay/floor/talk.js';
import { Membership, Talkgroup, User } from '../../src/relay/members/members.js';
import type { FairClock } from '../../src/relay/reception/fair-clock.js';
import { snapshotOf } from '../../src/relay/session/snapshot.js';
import { Telling } from '../../src/relay/session/telling.js';

const PART_BYTES_MAX = 30 * 1024;
/** Four bytes of UTF-8 for each character. */
const longest = (characters: number) => '🛟'.repeat(characters);
const idOf = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;

const account = {
  id: idOf(1) as UserId,
  username: longest(64),
  role: 'user' as const,
  is_dispatcher: false,
  valid_from: 0,
  device_id: null as DeviceId | null,
  device_active: true,
  holders_waiting: 0,
  memberships: [],
};

/** Of the greatest length in JSON. */
const fixOf = (number: number): LatestFix => ({
  ...{ deviceId: idOf(number) as DeviceId, lat: -12.345678901234567, lng: -123.45678901234567 },
  ...{ alt: -1.2345678901234567e-100, speed: 1.2345678901234567e-100, course: 123.45678901234567 },
  ...{ accuracy: 1.2345678901234567e-100, battery: 1.2345678901234567e-100, atMs: 1767225600000 },
});

const emergency = (number: number, isMoving = false): EmergencyRow => ({
  id: idOf(number),
  user_id: idOf(number) as UserId,
  username: longest(64),
  state: 'acknowledged',
  lat: -12.345678901234567,
  lng: -123.45678901234567,
  alt: -1.2345678901234567e-100,
  raised_at: '2026-01-01T00:00:00.000Z',
  device_id: idOf(number) as DeviceId,
  fix: isMoving ? fixOf(number) : null,
});

const talkgroupOf = (number: number, { name = 'fire', emergencies = 0, areMoving = false } = {}) =>
  new Talkgroup({
    id: idOf(number) as TalkgroupId,
    number,
    name,
    rotation_counter: 2 ** 31 - 1,
    floor_mode: 'broadcast',
    max_talk_ms: 3_600_000,
    revision: 0,
    encryption: 'required',
    clear_emergency: true,
    recording_days: 0,
    epochs: null,
    emergencies: Array.from({ length: emergencies }, (_, index) => emergency(index, areMoving)),
  });

const shownOf = (talkgroup: Talkgroup, bursts: Bursts, online: number) =>
  snapshotOf(new Membership(new User(account), talkgroup, 'depot'), { bursts, online, nowMs: 0 });

/** A burst of the greatest length in JSON. */
const talkIn = (talkgroup: Talkgroup, codec: Record<string, unknown> | null) =>
  ({
    session: { number: 2 ** 32 - 1 },
    talkgroup,
    membership: new Membership(new User(account), talkgroup, 'depot'),
    ...{ burst: 2 ** 32 - 1, priority: 7, emergencyFlag: 2, codec, crypto: null },
    ...{ startedAt: Date.now(), frames: Number.MAX_SAFE_INTEGER, sequence: Number.MAX_SAFE_INTEGER },
  }) as unknown as Talk; // all of it that a snapshot shows

t.test('a snapshot fits into one message with the longest of everything', async (t) => {
  const talkgroup = talkgroupOf(1, { name: longest(128), emergencies: 40, areMoving: true });
  const codec = { name: 'x'.repeat(200), sample_rate: 48_000, frame_ms: 20 };
  t.ok(Buffer.byteLength(JSON.stringify(codec)) > 240);
  const bursts = new Bursts();
  for (let talker = 0; talker < 1000; talker++) bursts.add(talkIn(talkgroup, codec));
  const crowded = shownOf(talkgroup, bursts, 2 ** 32);
  const bytes = Buffer.byteLength(JSON.stringify(crowded));
  t.ok(bytes < PART_BYTES_MAX, `${bytes} bytes`);
  t.ok(crowded.talkers.length > 20, `${crowded.talkers.length} of them`);
  t.match(crowded, { talkers_total: 1000, emergencies: { length: 8 }, emergencies_total: 40 });

  const others = new Bursts();
  for (let talker = 0; talker < 33; talker++) others.add(talkIn(talkgroup, null));
  t.equal(shownOf(talkgroup, others, 1).talkers.length, 32, 'without a codec all 32 fit');
});

t.test('a snapshot lists the newest emergencies first, and follows their changes', async (t) => {
  const talkgroup = talkgroupOf(1, { emergencies: 10 });
  const shown = () => shownOf(talkgroup, new Bursts(), 1).emergencies.map(({ emergency_id }) => emergency_id);
  t.same(shown(), [9, 8, 7, 6, 5, 4, 3, 2].map(idOf));
  talkgroup.setEmergency(emergency(10));
  talkgroup.clearEmergency(idOf(8));
  t.same(shown(), [10, 9, 7, 6, 5, 4, 3, 2].map(idOf));
});

type Message = { readonly more: boolean; readonly talkgroups: readonly { readonly number: number }[] };

/** A session with so many talkgroups of 8 emergencies each, so that 4 fit into a part. Time passes with each ping. */
function telling(count: number) {
  const user = new User(account);
  for (let number = 1; number <= count; number++) {
    const talkgroup = talkgroupOf(number, { emergencies: 8 });
    user.memberships.set(number, new Membership(user, talkgroup, 'depot'));
  }
  const said: Message[] = [];
  const modes = new Map<number, string>();
  const talks = new Map<number, Talk>();
  let nowMs = 100;
  let pings = 0;
  const session = {
    user,
    send: (text: string) => said.push(JSON.parse(text)),
    hears: ({ number }: Talkgroup) => modes.get(number) !== 'none',
    talkAt: (number: number) => talks.get(number),
    reception: { ping: () => pings++ },
  };
  const fair = { at: (ms: number) => ms } as FairClock; // one that never stands still
  return {
    telling: new Telling(session, {
      nowMs: () => nowMs++,
      fair,
      snapshot: ({ talkgroup }) => shownOf(talkgroup, new Bursts(), 1),
    }),
    user,
    modes,
    talks,
    numbers: () =>
      said.splice(0).map(({ more, talkgroups }) => [more, talkgroups.map(({ number }) => number)]),
    pings: () => pings,
    /** The answer to the newest ping. */
    now: () => nowMs,
  };
}

const numbersOf = ({ snapshots }: { snapshots: readonly string[] }) =>
  snapshots.map((text) => (JSON.parse(text) as { number: number }).number);

t.test('a part leaves when the ping behind the one before was answered, the last says so', async (t) => {
  const { telling: one, numbers, now, pings } = telling(10);
  const first = one.begin();
  t.match(first, { total: 10, more: true });
  t.same(numbersOf(first), [1, 2, 3, 4]);
  const before = now();
  one.ask();
  one.answered(before - 1);
  t.same(numbers(), [], 'that was sent before WELCOME');
  one.answered(now());
  t.same(numbers(), [[true, [5, 6, 7, 8]]]);
  one.answered(now());
  t.same(numbers(), [[false, [9, 10]]]);
  t.equal(pings(), 2, 'none behind the last');
  one.answered(now());
  t.same(numbers(), []);
});

t.test(
  'what is left or unsubscribed before its part comes is left out, and the last part still comes',
  async (t) => {
    const { telling: one, user, modes, numbers, now } = telling(9);
    one.begin();
    one.ask();
    for (const number of [5, 6, 7]) user.memberships.delete(number);
    for (const number of [8, 9]) modes.set(number, 'none');
    one.answered(now());
    t.same(numbers(), [[false, []]]);
  },
);

t.test('talkgroups where the session has the floor are the first', async (t) => {
  const { telling: one, talks } = telling(9);
  talks.set(8, { claim: 'has' } as Talk); // all of it that is looked at
  t.same(numbersOf(one.begin()), [8, 1, 2, 3]);
});

t.test('a resync while a part is under way tells each talkgroup once more, and none twice', async (t) => {
  const { telling: one, numbers, now } = telling(6);
  one.begin();
  one.ask();
  one.resync();
  t.same(numbers(), [], 'the part under way has to be read first');
  for (let part = 0; part < 3; part++) one.answered(now());
  t.same(numbers(), [
    [true, [5, 6, 1, 2]],
    [false, [3, 4]],
  ]);
  one.resync();
  t.same(numbers(), [[true, [1, 2, 3, 4]]], 'at once when nothing is under way');
});

t.test('what SUBSCRIBE asks for is answered first, the rest of it and of WELCOME follows', async (t) => {
  const { telling: one, user, numbers, now } = telling(9);
  one.begin();
  one.ask();
  const asked = [3, 4, 5, 6, 7].flatMap((number) => user.memberships.get(number) ?? []);
  one.subscribed(asked, [], 'ref');
  const [[more, atOnce] = []] = numbers();
  t.equal(more, true);
  for (let parts = 0; parts < 3; parts++) one.answered(now());
  const later = numbers();
  t.equal(later.at(-1)?.[0], false);
  const told = [atOnce, ...later.map(([, snapshots]) => snapshots)].flat();
  t.same(
    told.slice(0, 5),
    [3, 4, 5, 6, 7],
    'what fits beside WELCOME at once, the rest before what WELCOME left',
  );
  t.same(told.slice(5), [8, 9]);
});

t.test('with its socket all that is owed is forgotten', async (t) => {
  const { telling: one, numbers, now } = telling(9);
  one.begin();
  one.ask();
  one.stop();
  one.answered(now());
  t.same(numbers(), []);
});

t.test('answers to many SUBSCRIBEs carry together no more at once than one part', async (t) => {
  const { telling: one, user, numbers, now } = telling(12);
  const memberships = [...user.memberships.values()];
  for (let first = 0; first < 12; first += 3) one.subscribed(memberships.slice(first, first + 3), [], first);
  const answers = numbers();
  t.equal(answers.length, 4);
  const atOnce = answers.flatMap(([, snapshots]) => snapshots as number[]);
  const bytes =
    atOnce.length *
    Buffer.byteLength(JSON.stringify(shownOf(talkgroupOf(1, { emergencies: 8 }), new Bursts(), 1)));
  t.ok(bytes > PART_BYTES_MAX / 2 && bytes <= PART_BYTES_MAX, `${bytes} bytes`);
  t.same(answers.at(-1), [true, []], 'the last one waits for the answer to a ping');
  for (let parts = 0; parts < 4; parts++) one.answered(now());
  const later = numbers();
  t.equal(later.at(-1)?.[0], false);
  const all = [...atOnce, ...later.flatMap(([, snapshots]) => snapshots as number[])];
  t.same(new Set(all), new Set(memberships.map(({ talkgroup }) => talkgroup.number)));
  t.equal(all.length, 12, 'each once');
});
