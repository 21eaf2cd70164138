// What one message tells of talkgroups: bounded whatever is stored, in parts that a narrow link keeps up with.
import { randomUUID } from 'node:crypto';
import t from 'tap';
import { comesTrue } from '../helpers/eventually.js';
import { narrowLink } from '../helpers/network/narrow-link.js';
import { lagCount } from '../helpers/relay/hearing.js';
import { FRAMES_PER_SECOND, speech } from '../helpers/relay/speech.js';
import { connect, type Json, type Radio, type Service, service } from '../helpers/service/service.js';

/** `make prove` takes 1,000. */
const TALKGROUPS = Number(process.env.SNAPSHOT_TALKGROUPS ?? 100);
const EMERGENCIES = 40;
const MESSAGE_BYTES_MAX = 32 * 1024;
const BYTES_PER_SECOND = 1e6 / 8;

t.setTimeout(300_000);

t.test('a radio at 1 Mbit/s is told of all talkgroups while it hears speech, without a LAG', async (t) => {
  const s = await service(t);
  const [ann, bob] = [await s.person('ann'), await s.person('bob')];
  const fire = await s.talkgroup('fire', ann, bob);
  const ids = await s.talkgroups(bob, TALKGROUPS);
  await openEmergencies(s, ids);
  const a = await ann.radio();
  const talk = speech(t, a, fire);
  await talk.goesOn(FRAMES_PER_SECOND);

  const link = await narrowLink(t, portOf(s));
  link.narrow(BYTES_PER_SECOND);
  const b = await connect(t, `ws://127.0.0.1:${link.port}/ws?token=${bob.token}`);
  t.equal(b.welcome?.talkgroups_total, TALKGROUPS + 1);
  const parts = await partsOf(b);
  const snapshots = parts.flatMap(({ talkgroups }) => talkgroups as Json[]);
  t.same(sorted(snapshots.map(({ talkgroup_id }) => String(talkgroup_id))), sorted([...ids, fire.id]));
  t.same(
    parts.filter(({ type }) => type === 'SUBSCRIBED').filter((part) => 'ref' in part),
    [],
  );
  const largest = Math.max(...parts.map((part) => Buffer.byteLength(JSON.stringify(part))));
  t.ok(largest <= MESSAGE_BYTES_MAX, `${largest} bytes in one message, of ${parts.length}`);
  const most = Math.max(...parts.map((part) => emergenciesIn(part).length));
  t.ok(most > 0 && most <= 32, `${most} emergencies in one message`);

  const crowded = snapshots.filter(({ talkgroup_id }) => talkgroup_id !== fire.id);
  t.same([...new Set(crowded.map(({ emergencies_total }) => emergencies_total))], [EMERGENCIES]);
  const newest = Array.from({ length: 8 }, (_, index) => atSecond(EMERGENCIES - 1 - index));
  for (const { emergencies } of crowded)
    if (JSON.stringify((emergencies as Json[]).map(({ raised_at }) => raised_at)) !== JSON.stringify(newest))
      t.fail(`not the 8 newest: ${JSON.stringify(emergencies)}`);

  const heard = b.frames.length;
  await comesTrue('live speech behind it', () => b.frames.length > heard + FRAMES_PER_SECOND);
  t.equal(lagCount(b), 0);
  const texts = b.frames.map(({ text }) => Number(text));
  const first = texts[0] ?? 0;
  t.same(
    texts,
    texts.map((_, index) => first + index),
    'from the first frame on it lost none',
  );

  t.match(await b.asks({ type: 'SYNC', talkgroup_id: ids[0] }), {
    type: 'SYNCED',
    emergencies: { length: 8 },
    emergencies_total: EMERGENCIES,
  });
});

t.test('the answer to SUBSCRIBE comes in parts as well, each once', async (t) => {
  const s = await service(t);
  const bob = await s.person('bob');
  const ids = await s.talkgroups(bob, 200);
  const b = await bob.radio();
  await partsOf(b);
  b.messages.length = 0;
  const answer = await b.asks({ type: 'SUBSCRIBE', talkgroup_ids: ids, mode: 'listen' });
  t.match(answer, { type: 'SUBSCRIBED', more: true, refused: [] });
  const parts = [answer, ...(await partsOf(b, b.arrivals.indexOf(answer)))];
  const told = parts.flatMap(({ talkgroups }) =>
    (talkgroups as Json[]).map(({ talkgroup_id }) => talkgroup_id),
  );
  t.same(sorted(told.map(String)), sorted(ids));

  t.match(await b.asks({ type: 'SUBSCRIBE', talkgroup_ids: [] }), { talkgroups: [], more: false });
  b.says({ type: 'SUBSCRIBE', talkgroup_ids: [] });
  await b.settled();
  const { ref, ...unasked } = b.messages.findLast(({ type }) => type === 'SUBSCRIBED') ?? {};
  t.same(
    unasked,
    { type: 'SUBSCRIBED', more: false, refused: [], talkgroups: [] },
    'nothing that was not asked for',
  );
});

t.test(
  'a talkgroup that is left before its part comes is not told of, and the last part still comes',
  async (t) => {
    const s = await service(t);
    const bob = await s.person('bob');
    const ids = await s.talkgroups(bob, 200);
    const b = await bob.radio();
    const told = ((b.welcome?.talkgroups ?? []) as Json[]).map(({ talkgroup_id }) => talkgroup_id);
    const untold = ids.filter((id) => !told.includes(id));
    t.ok(untold.length > 0);
    b.says({ type: 'UNSUBSCRIBE', talkgroup_ids: untold });
    const parts = await partsOf(b);
    const later = parts.slice(1).flatMap(({ talkgroups }) => talkgroups as Json[]);
    t.ok(later.length <= untold.length);
    t.match(parts.at(-1), { more: false });
  },
);

t.test(
  'one user is shown 2,000 snapshots at once over all sockets, another one is not affected',
  async (t) => {
    const s = await service(t);
    const [ann, bob] = [await s.person('ann'), await s.person('bob')];
    const ids = await s.talkgroups(bob, 200);
    const fire = await s.talkgroup('fire', ann);
    const sockets = [await bob.radio(), await bob.radio(), await bob.radio()];
    const ask = (radio: Radio) => radio.asks({ type: 'SUBSCRIBE', talkgroup_ids: ids });
    const startedAtMs = performance.now();
    let answered = 0;
    let refused: Json | null = null;
    for (let asked = 0; refused === null && asked < 30; asked++) {
      const answer = await ask(sockets[asked % 3] as Radio);
      if (answer.type === 'SUBSCRIBED') answered++;
      else refused = answer;
    }
    t.match(refused, { type: 'ERROR', code: 'rate_limited' });
    // The last one is answered with the first token that is there. 100 come back in a second.
    const most = 11 + (performance.now() - startedAtMs) / 2000;
    t.ok(answered >= 10 && answered <= most, `${answered} times 200`);
    t.match(await sockets[2]?.asks({ type: 'SYNC', talkgroup_id: ids[0] }), { code: 'rate_limited' });
    t.match(await sockets[1]?.asks({ type: 'PING', t: 1 }), { type: 'PONG' }, 'all else is answered');
    const a = await ann.radio();
    t.match(await a.asks({ type: 'SUBSCRIBE', talkgroup_ids: [fire.id] }), { type: 'SUBSCRIBED' });
  },
);

/** WELCOME, or what follows `from`, and all parts up to the last. */
async function partsOf(radio: Radio, from = -1): Promise<Json[]> {
  const parts = () =>
    radio.arrivals
      .slice(from + 1)
      .filter(
        (one): one is Json => !('payload' in one) && (one.type === 'WELCOME' || one.type === 'SUBSCRIBED'),
      );
  await comesTrue('the last part', () => parts().at(-1)?.more === false);
  return parts();
}

const emergenciesIn = ({ talkgroups }: Json) =>
  (talkgroups as Json[]).flatMap(({ emergencies }) => emergencies as Json[]);

const sorted = (texts: readonly string[]) => [...texts].sort();
const portOf = ({ ws }: { ws: string }) => Number(new URL(ws).port);
const atSecond = (second: number) => `2026-01-01T00:00:${String(second).padStart(2, '0')}.000Z`;

/** In each of them 40, of as many users, one a second. */
async function openEmergencies({ sql }: Service, ids: readonly string[]): Promise<void> {
  const users = Array.from({ length: EMERGENCIES }, () => randomUUID());
  await sql`insert into users (id, username, password_hash)
    select id, 'raiser ' || id, 'none' from unnest(${`{${users}}`}::uuid[]) id`;
  await sql`
    insert into emergencies (id, user_id, talkgroup_id, raised_at)
    select gen_random_uuid(), u.id, t.id, '2026-01-01T00:00:00Z'::timestamptz + (u.n - 1) * interval '1 second'
      from unnest(${`{${users}}`}::uuid[]) with ordinality u (id, n)
      cross join unnest(${`{${ids}}`}::uuid[]) t (id)`;
}
