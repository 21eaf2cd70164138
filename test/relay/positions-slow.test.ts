// Watchers on poor links: the list and the positions wait for what was read, and speech does not wait for them.
import t from 'tap';
import { comesTrue, eventually } from '../helpers/eventually.js';
import { narrowLink } from '../helpers/network/narrow-link.js';
import { lagCount } from '../helpers/relay/hearing.js';
import { FRAMES_PER_SECOND, speech } from '../helpers/relay/speech.js';
import { connect, type Json, type Radio, type Service, service } from '../helpers/service/service.js';

t.setTimeout(300_000);
t.jobs = 2;

/** `make prove` takes 5,000. */
const DEVICES = Number(process.env.WATCHED_DEVICES ?? 1500);
const BYTES_PER_SECOND = 1e6 / 8;
const PART_BYTES_MAX = 16 * 1024;
type Row = readonly [n: number, lat: number, lng: number];

const devicesIn = (message: Json) => message.devices as { n: number; device_id: string }[];
const rowsIn = ({ messages }: Radio) =>
  messages.filter(({ type }) => type === 'POSITIONS').flatMap(({ fixes }) => fixes as Row[]);
const portOf = ({ ws }: Service) => Number(new URL(ws).port);

/** So many devices of members that are not connected. */
async function crowd(s: Service, talkgroup: string, count: number): Promise<void> {
  await s.sql`
    with d as (
      insert into devices (name, site, serial) select 'phone ' || i, 'depot', 'crowd ' || i
      from generate_series(1, ${count}) i returning id, serial
    ), u as (
      insert into users (username, password_hash, device_id) select serial, 'none', id from d returning id
    ), m as (
      insert into memberships (user_id, talkgroup_id, site) select id, ${talkgroup}::uuid, 'depot' from u
    )
    insert into gps_fixes (device_id, lat, lng, alt, speed) select id, 1, 2, 3, 4 from d`;
}

t.test('a watcher of many devices at 1 Mbit/s hears speech without a LAG', { buffered: true }, async (t) => {
  const s = await service(t);
  const [ann, bob] = [await s.person('ann', { serial: 'ann' }), await s.person('bob')];
  const fire = await s.talkgroup('fire', ann, bob);
  await crowd(s, fire.id, DEVICES - 1);
  const a = await ann.radio();
  const talk = speech(t, a, fire);
  await talk.goesOn(FRAMES_PER_SECOND);
  const link = await narrowLink(t, portOf(s));
  link.narrow(BYTES_PER_SECOND);
  const b = await connect(t, `ws://127.0.0.1:${link.port}/ws?token=${bob.token}`);
  b.says({ type: 'WATCH', talkgroup_ids: [fire.id], interval_ms: 1000, ref: 'w' });
  const parts = () => b.messages.filter(({ type }) => type === 'WATCHING');
  await comesTrue('the last part', () => parts().some(({ part, parts }) => part === parts));
  t.same(
    parts().map(({ part, parts, total, ref }) => [part, parts, total, ref]),
    parts().map((_, index) => [index + 1, parts().length, DEVICES, 'w']),
  );
  const listed = new Set(
    parts()
      .flatMap(devicesIn)
      .map(({ device_id }) => device_id),
  );
  t.equal(listed.size, DEVICES);
  for (const part of parts()) t.ok(Buffer.byteLength(JSON.stringify(part)) <= PART_BYTES_MAX);
  a.says({ type: 'GPS_UPDATE', lat: 5, lng: 6, alt: 7 });
  await comesTrue('a position', () => rowsIn(b).some(([, lat]) => lat === 5));
  const heard = b.frames.length;
  await comesTrue('live speech behind it', () => b.frames.length > heard + FRAMES_PER_SECOND);
  t.equal(lagCount(b), 0);
});

t.test('a watcher that lagged gets what moved meanwhile, and nothing else', { buffered: true }, async (t) => {
  const s = await service(t);
  const [ann, bob] = [await s.person('ann', { serial: 'ann' }), await s.person('bob', { serial: 'bob' })];
  const fire = await s.talkgroup('fire', ann, bob);
  await crowd(s, fire.id, 20);
  const [a, b] = [await ann.radio(), await bob.radio()];
  const talk = speech(t, a, fire);
  const answer = await b.asks({ type: 'WATCH', talkgroup_ids: [fire.id], interval_ms: 1000 });
  const numberOf = (device: string | null) =>
    devicesIn(answer).find(({ device_id }) => device_id === device)?.n;
  await talk.goesOn(FRAMES_PER_SECOND);
  await eventually(async () => {
    await a.asks({ type: 'GPS_UPDATE', lat: Math.random(), lng: 0, alt: 0 });
    await comesTrue('a position', () => rowsIn(b).some(([n]) => n === numberOf(ann.device)));
  });
  // All that moved before is older than what is sent again.
  await talk.goesOn(8 * FRAMES_PER_SECOND);
  b.messages.length = 0;
  b.socket.pause();
  await talk.goesOn(2 * FRAMES_PER_SECOND);
  for (const lat of [10, 11])
    await a.asks({ type: 'GPS_UPDATE', device_id: bob.device, lat, lng: 0, alt: 0 });
  await talk.goesOn(3 * FRAMES_PER_SECOND);
  b.socket.resume();
  await comesTrue('LAG', () => lagCount(b) > 0);
  await comesTrue('what moved', () => rowsIn(b).some(([, lat]) => lat === 11));
  t.same([...new Set(rowsIn(b).map(([n]) => n))], [numberOf(bob.device)]);
  t.notOk(
    b.messages.some(({ type }) => type === 'WATCHING' || type === 'SUBSCRIBED'),
    'no snapshot, no list',
  );
});
