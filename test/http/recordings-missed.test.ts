// What a user missed: which recordings are counted, of which talkgroups, from when on and up to how many.
import fc from 'fast-check';
import t from 'tap';
import { type Database, openDatabase } from '../../src/db/client.js';
import { deadlineIn } from '../../src/db/deadline.js';
import type { RecordingTail } from '../../src/protocol/recording-batch.js';
import { recordingIdOf } from '../../src/protocol/recording-id.js';
import { storeRecordings } from '../../src/recordings/intake/store.js';
import { missedRecordings } from '../../src/recordings/missed/store.js';
import { listOf } from '../helpers/service/recorded.js';
import { type Json, type Person, service } from '../helpers/service/service.js';

t.setTimeout(300_000);

const s = await service(t);
const database: Database = openDatabase({ url: s.url, connections: 2, log: { info() {}, warn() {} } });
t.teardown(() => database.close());

const HOUR_MS = 3_600_000;
const now = Date.now();
let session = 3_000_000_000;

type Given = Partial<RecordingTail> & { readonly agoMs: number };

/** Recordings of a talkgroup, of the administrator when none else is named. */
async function given(talkgroup: { readonly id: string }, all: readonly Given[]): Promise<string[]> {
  const rows = all.map(({ agoMs, ...over }): RecordingTail => {
    const startedAt = now - agoMs;
    return {
      id: recordingIdOf({ startedAt, session: ++session, burst: 1, piece: 0 }),
      ...{ talkgroup_id: talkgroup.id as never, talkgroup_number: 1, talkgroup_name: 'given' },
      ...{ user_id: s.admin.id, username: 'admin', started_at: startedAt, days: 1, epoch: 3 },
      ...{ was_required: false, priority: 1, emergency: false, codec: null, crypto: null, first_frame: 1 },
      ...{ frames: 3, duration_ms: 60, code: 'released', lost: {}, ...over },
    };
  });
  await storeRecordings(database, deadlineIn(10_000), { rows, parts: [] });
  return rows.map(({ id }) => id);
}

interface Missed {
  readonly since: string;
  readonly talkgroups: readonly Json[];
}

const iso = (agoMs: number) => new Date(now - agoMs).toISOString();
const missedBy = async (person: Person, sinceAgoMs: number, untilAgoMs?: number) =>
  (await person.get(
    `/recordings/missed?since=${iso(sinceAgoMs)}${untilAgoMs === undefined ? '' : `&until=${iso(untilAgoMs)}`}`,
  )) as unknown as Missed;

/** They joined two days ago, unless it is said otherwise. */
async function joined(person: Pick<Person, 'id'>, agoMs = 48 * HOUR_MS): Promise<void> {
  await s.sql`update memberships set created_at = ${iso(agoMs)} where user_id = ${person.id}`;
}

t.test('missed recordings are counted for each talkgroup, from then on until then', async (t) => {
  const bob = await s.person('bob');
  const [fire, quiet, foreign] = [
    await s.talkgroup('fire', bob),
    await s.talkgroup('quiet', bob),
    await s.talkgroup('foreign'),
  ];
  await joined(bob);
  await given(fire, [{ agoMs: 9_001 }, { agoMs: 9_000 }, { agoMs: 8_000, emergency: true }]);
  await given(fire, [{ agoMs: 5_001 }, { agoMs: 5_000 }, { agoMs: 7_000, user_id: bob.id }]);
  await given(foreign, [{ agoMs: 8_000 }]);
  const [erased, expired] = await given(fire, [{ agoMs: 7_500 }, { agoMs: 7_400 }]);
  await s.admin.delete(`/recordings/${erased}`);
  await s.sql`update recordings set expires_at = now() where id = ${expired ?? ''}`;
  t.same(await missedBy(bob, 9_000, 5_000), {
    since: iso(9_000),
    talkgroups: [
      { talkgroup_id: fire.id, recordings: 3, emergencies: 1, first_at: iso(9_000), last_at: iso(5_001) },
    ],
  });
  t.match(await missedBy(bob, 9_000), { talkgroups: [{ recordings: 4, last_at: iso(5_000) }] });
  t.same((await missedBy(bob, 0)).talkgroups, []);
  t.same((await missedBy(bob, 5_000, 9_000)).talkgroups, []);
  await given(quiet, [{ agoMs: 6_000, code: 'continues' }]);
  const { talkgroups } = await missedBy(bob, 9_000);
  const ids = talkgroups.map(({ talkgroup_id }) => talkgroup_id);
  t.same(ids, [fire.id, quiet.id].sort());
});

t.test('20 means 20 or more, and an emergency behind them is counted', async (t) => {
  const eve = await s.person('eve');
  const busy = await s.talkgroup('busy', eve);
  await joined(eve);
  const calls = (count: number, from: number, emergency = false) =>
    Array.from({ length: count }, (_, n) => ({ agoMs: from - n, emergency }));
  await given(busy, calls(19, 60_000));
  t.match(await missedBy(eve, HOUR_MS), { talkgroups: [{ recordings: 19, emergencies: 0 }] });
  await given(busy, calls(1, 50_000));
  t.match(await missedBy(eve, HOUR_MS), { talkgroups: [{ recordings: 20 }] });
  await given(busy, [...calls(30, 40_000), ...calls(1, 30_000, true)]);
  const one = { recordings: 20, emergencies: 1, first_at: iso(60_000), last_at: iso(30_000) };
  t.match(await missedBy(eve, HOUR_MS), { talkgroups: [one] });
  await given(busy, calls(25, 20_000, true));
  t.match(await missedBy(eve, HOUR_MS), { talkgroups: [{ recordings: 20, emergencies: 20 }] });
});

t.test('the last 24 hours are counted, and the answer says from when on', async (t) => {
  const old = await s.person('old');
  const group = await s.talkgroup('old', old);
  await joined(old);
  await given(group, [{ agoMs: 25 * HOUR_MS }, { agoMs: 23 * HOUR_MS }]);
  const before = Date.now();
  const { since, talkgroups } = await missedBy(old, 47 * HOUR_MS);
  const fromMs = Date.parse(since);
  t.ok(fromMs >= before - 24 * HOUR_MS && fromMs <= Date.now() - 24 * HOUR_MS, since);
  t.match(talkgroups, [{ recordings: 1 }]);
});

t.test('a time that is missing, or is none, is rejected', async (t) => {
  for (const query of ['', '?until=2026-01-01T00:00:00Z', '?since=', '?since=now', '?since=2026-01-01T00:00'])
    t.match(await s.admin.call('GET', `/recordings/missed${query}`), {
      status: 400,
      body: { error: /since/ },
    });
  t.match(await s.admin.call('GET', '/recordings/missed?since=2026-01-01T00:00:00Z&until=x'), {
    status: 400,
    body: { error: /until/ },
  });
});

t.test('with RECORDING_ACCESS=admin members missed nothing that they may hear', async (t) => {
  const [member, chief] = [await s.person('member'), await s.person('chief', { role: 'admin' })];
  const group = await s.talkgroup('closed', member, chief);
  for (const person of [member, chief]) await joined(person);
  await given(group, [{ agoMs: 1_000 }]);
  const countOf = async ({ id }: Person, access: 'members' | 'admin') =>
    (
      await missedRecordings(
        database,
        deadlineIn(10_000),
        { user: id, access },
        { since: now - HOUR_MS, until: null },
      )
    ).length;
  t.same(
    [await countOf(member, 'members'), await countOf(member, 'admin'), await countOf(chief, 'admin')],
    [1, 0, 1],
  );
});

t.test('what was missed is what lists have of others since the caller joined', async (t) => {
  const [keyed, keyless, late, chief] = [
    await s.person('keyed'),
    await s.person('keyless'),
    await s.person('late'),
    await s.person('boss', { role: 'admin' }),
  ];
  const people = [keyed, keyless, late, chief];
  const groups = [];
  for (const encryption of ['allowed', 'required']) {
    const group = await s.talkgroup(`many ${encryption}`, ...people);
    await s.sql`update talkgroups set encryption = ${encryption} where id = ${group.id}`;
    groups.push(group);
  }
  const LATE_MS = 40_000;
  for (const person of people) await joined(person, person === late ? LATE_MS : 48 * HOUR_MS);
  await s.sql`update memberships set may_have_keys = true where user_id in (${keyed.id}, ${late.id})`;
  await s.sql`update memberships set first_epoch = 4 where user_id = ${late.id}`;
  const any = fc.record({
    agoMs: fc.integer({ min: 1, max: 100_000 }),
    user_id: fc.constantFrom(...people.map(({ id }) => id), s.admin.id),
    emergency: fc.boolean(),
    was_required: fc.boolean(),
    epoch: fc.integer({ min: 2, max: 5 }),
  });
  const [seeds] = fc.sample(fc.array(any, { minLength: 120, maxLength: 120, size: 'max' }), 1);
  for (const [at, group] of groups.entries()) {
    const ids = await given(
      group,
      (seeds ?? []).filter((_, n) => n % 2 === at),
    );
    for (const id of ids.slice(0, 5)) await s.admin.delete(`/recordings/${id}`);
  }
  let counted = 0;
  for (const person of people)
    for (const [sinceMs, untilMs] of [
      [100_000, 0],
      [60_000, 20_000],
      [12_000, 10_000],
    ] as const) {
      const expected: Json[] = [];
      for (const { id } of groups) {
        const query = `talkgroup_id=${id}&since=${iso(sinceMs)}&until=${iso(untilMs)}&limit=200&order=oldest`;
        const joinedAt = iso(person === late ? LATE_MS : 48 * HOUR_MS);
        const missed = (await listOf(person, query)).filter(
          ({ user_id, erased_at, started_at }) =>
            user_id !== person.id && erased_at === null && String(started_at) >= joinedAt,
        );
        const emergencies = missed.filter(({ emergency }) => emergency).length;
        if (missed.length > 0)
          expected.push({
            ...{ talkgroup_id: id, recordings: Math.min(20, missed.length) },
            ...{ emergencies: Math.min(20, emergencies), first_at: missed[0]?.started_at },
            last_at: missed.at(-1)?.started_at,
          });
      }
      expected.sort((one, other) => (String(one.talkgroup_id) < String(other.talkgroup_id) ? -1 : 1));
      counted += expected.length;
      t.same((await missedBy(person, sinceMs, untilMs)).talkgroups, expected, `${person.name} ${sinceMs}`);
    }
  t.ok(counted > 8, `${counted} counts`);
});
