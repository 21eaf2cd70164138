// Scrapes the metrics of a running service: they count the events, and name no user.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import t, { type Test } from 'tap';
import { compose } from '../../src/compose.js';
import { readConfig } from '../../src/config/config.js';
import { createLog } from '../../src/log.js';
import { families } from '../../src/metrics/families.js';
import { proxiedDatabase } from '../helpers/database/proxied-database.js';
import { eventually } from '../helpers/eventually.js';
import { type Exposition, readExposition } from '../helpers/http/exposition.js';
import { connect, SECRET, type Service, service } from '../helpers/service/service.js';

async function scrape({ metrics }: { metrics: string }): Promise<Exposition> {
  const response = await fetch(metrics);
  assert.equal(response.status, 200);
  assert.equal(response.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8');
  return readExposition(await response.text());
}

/** These go on by themselves, or depend on how fast the machine is. */
const RESTLESS = /busy_seconds|cpu|_bucket|_sum|event_loop_delay|latency_seconds_count|refused_total\{pool/;

/** Counters that moved from one scrape to the other, and by how much. */
function moved(before: Exposition, after: Exposition): Record<string, number> {
  const entries = [...after.series]
    .filter(([key]) => /_(total|count)(\{|$)/.test(key) && !RESTLESS.test(key))
    .map(([key, value]) => [key, value - (before.series.get(key) ?? 0)] as const)
    .filter(([, by]) => by !== 0);
  return Object.fromEntries(entries);
}

/** Ann says three frames to Bob, both want the floor, a client does everything wrong. */
async function story(t: Test, s: Service): Promise<void> {
  const ann = await s.person('ann-the-talker', { serial: 'metrics-serial' });
  const bob = await s.person('bob-the-listener');
  const group = await s.talkgroupWith({ name: 'metrics-group', floor_mode: 'single' }, ann, bob);
  const talker = await ann.radio();
  const listener = await bob.radio();
  const before = await eventually(async () => {
    const now = await scrape(s);
    assert.equal(now.series.get('talkgroup_relay_sessions{state="live"}'), 2);
    return now;
  });

  talker.speaks(group.number, 'one.', { start: true });
  talker.speaks(group.number, 'two.');
  talker.speaks(group.number, 'end.', { end: true });
  await listener.hears('TALK_ENDED');
  talker.speaks(999_999, 'nobody', { start: true });
  await talker.hears('ERROR');

  const ask = { type: 'FLOOR_REQUEST', talkgroup_id: group.id, queue: true };
  t.match(await talker.asks(ask), { type: 'FLOOR_GRANTED' });
  t.match(await listener.asks(ask), { type: 'FLOOR_QUEUED' });
  t.match(await listener.asks({ ...ask, queue: false }), { type: 'FLOOR_DENIED' });
  t.match(await listener.asks(ask), { type: 'FLOOR_QUEUED' });
  t.match(await talker.asks({ type: 'FLOOR_RELEASE', talkgroup_id: group.id }), { type: 'OK' });
  await listener.hears('FLOOR_GRANTED');
  t.match(await listener.asks({ type: 'FLOOR_RELEASE', talkgroup_id: group.id }), { type: 'OK' });

  const crypto = (epoch: number) => ({ suite: 4, epoch, salt: 'oKGio6SlpqeoqaqrrK2urw' });
  t.match(await talker.asks({ ...ask, crypto: crypto(7) }), { type: 'ERROR', code: 'stale_epoch' });
  t.match(await talker.asks({ ...ask, crypto: crypto(0) }), { type: 'FLOOR_GRANTED' });
  talker.speaks(group.number, 'clear');
  t.match(await talker.hears('ERROR'), { code: 'encryption_required' });
  t.match(await talker.asks({ type: 'FLOOR_RELEASE', talkgroup_id: group.id }), { type: 'OK' });

  const members = { type: 'MEMBERS', talkgroup_id: group.id };
  t.match(await talker.asks(members), { type: 'MEMBERS' });
  t.match(await talker.asks(members), { type: 'ERROR', code: 'rate_limited' });
  t.match(await talker.asks({ type: 'SHOUT' }), { type: 'ERROR', code: 'unknown_type' });
  t.equal((await fetch(`${s.ws.replace('ws', 'http')}/ws`)).status, 426);

  const fix = { lat: 1, lng: 2, alt: 3 };
  t.match(await talker.asks({ type: 'GPS_UPDATE', ...fix }), { type: 'OK' });
  await ann.post(`/devices/${ann.device}/gps`, fix);
  t.equal((await ann.call('POST', `/devices/${group.id}/gps`, fix)).status, 404);
  t.equal((await ann.call('GET', '/no/such/path')).status, 404);
  t.equal((await s.call('GET', '/talkgroups', 'not a token')).status, 401);
  await (await connect(t, `${s.ws}/ws?token=x`)).closes();

  // Counted with the receivers there are at the next pulse.
  await eventually(async () => {
    assert.equal((await scrape(s)).series.get('talkgroup_relay_frames_sent_total'), 3);
  });
  listener.socket.close(1000);
  const expected = {
    'talkgroup_relay_handshakes_refused_total{reason="invalid token"}': 1,
    'talkgroup_relay_sockets_closed_total{code="1000"}': 1,
    talkgroup_relay_messages_received_total: 13,
    'talkgroup_relay_messages_refused_total{reason="rate_limited"}': 1,
    'talkgroup_relay_messages_refused_total{reason="stale_epoch"}': 1,
    'talkgroup_relay_messages_refused_total{reason="unknown_type"}': 1,
    'talkgroup_relay_http_refusals_total{status="426"}': 1,
    talkgroup_relay_bursts_started_total: 1,
    'talkgroup_relay_bursts_ended_total{reason="released"}': 1,
    talkgroup_relay_frames_received_total: 5,
    talkgroup_relay_frames_relayed_total: 3,
    'talkgroup_relay_frames_dropped_total{reason="encryption"}': 1,
    'talkgroup_relay_frames_dropped_total{reason="not_member"}': 1,
    talkgroup_relay_frames_sent_total: 3,
    talkgroup_relay_received_bytes_total: 3 * (16 + 4),
    talkgroup_relay_sent_bytes_total: 3 * (16 + 4),
    talkgroup_floor_requests_total: 5,
    talkgroup_floor_queued_total: 2,
    talkgroup_floor_granted_total: 4,
    'talkgroup_floor_denied_total{reason="busy"}': 1,
    talkgroup_floor_wait_seconds_count: 1,
    'talkgroup_gps_fixes_total{way="rest",result="stored"}': 1,
    'talkgroup_gps_fixes_total{way="rest",result="unknown"}': 1,
    'talkgroup_gps_fixes_total{way="socket",result="stored"}': 1,
    'talkgroup_http_requests_total{method="POST",route="/devices/:id/gps",status="2xx"}': 1,
    'talkgroup_http_requests_total{method="POST",route="/devices/:id/gps",status="4xx"}': 1,
    'talkgroup_http_requests_total{method="GET",route="/talkgroups",status="4xx"}': 1,
    'talkgroup_http_requests_total{method="any",route="none",status="4xx"}': 1,
    'talkgroup_http_request_duration_seconds_count{method="POST",route="/devices/:id/gps"}': 2,
    'talkgroup_http_request_duration_seconds_count{method="GET",route="/talkgroups"}': 1,
    'talkgroup_http_request_duration_seconds_count{method="any",route="none"}': 1,
    'talkgroup_http_refusals_total{reason="device_not_found"}': 1,
    'talkgroup_http_refusals_total{reason="unknown_path"}': 1,
    'talkgroup_http_refusals_total{reason="invalid_token"}': 1,
  };
  const after = await eventually(async () => {
    const now = await scrape(s);
    assert.deepEqual(moved(before, now), expected);
    return now;
  });
  t.pass('every counter moved by exactly what happened, and no other');

  for (const key of after.series.keys()) {
    const [, name = '', labels = ''] = /^([^{]+)(?:\{(.*)\})?$/.exec(key) ?? [];
    const family = families.find((one) =>
      [name, name.replace(/_(bucket|sum|count)$/, '')].includes(one.name),
    );
    const shown = [...labels.matchAll(/(\w+)="(?:[^"\\]|\\.)*"/g)].map(([, label = '']) => label);
    const declared = shown.filter((label) => label !== 'le');
    assert.deepEqual(declared, family?.labels, `${key} has the labels that its family declares`);
  }

  const value = (name: string) => after.series.get(name);
  t.equal(value('talkgroup_ready'), 1);
  t.equal(value('talkgroup_relay_sessions{state="live"}'), 1);
  t.equal(value('talkgroup_relay_talkgroups'), 1);
  t.equal(value('talkgroup_relay_bursts'), 0);
  t.ok((value('process_resident_memory_bytes') ?? 0) > 10e6);

  const labels = [...after.labelValues].join('\n');
  for (const untold of [
    ann.name,
    bob.name,
    group.name,
    'metrics-serial',
    SECRET,
    ann.token,
    /[0-9a-f]{8}-[0-9a-f]{4}/,
  ])
    t.notMatch(labels, untold);

  // None of a turn in which the relay judges receivers, so perhaps not the three above.
  const timed = await eventually(async () => {
    talker.speaks(group.number, 'more', { start: true, end: true });
    const count = (await scrape(s)).series.get('talkgroup_relay_latency_seconds_count') ?? 0;
    assert.ok(count > 0);
    return count;
  });
  t.ok(timed > 0, `${timed} frames were timed`);
}

for (const RELAY_THREADS of ['0', '1']) {
  t.test(`with RELAY_THREADS=${RELAY_THREADS} the counters count the events and name no user`, async (t) => {
    const s = await service(t, { RELAY_THREADS });
    await story(t, s);
    const dan = await s.person('dan', { serial: 'dans-radio' });
    const radio = await dan.radio();
    await s.admin.patch(`/devices/${dan.device}/status`, { active: false });
    await radio.closes();
    const { series } = await eventually(async () => {
      const now = await scrape(s);
      assert.equal(now.series.get('talkgroup_relay_closes_total{reason="device disabled"}'), 1);
      return now;
    });
    const threads = [...series.keys()].filter((key) => key.startsWith('talkgroup_heap_bytes'));
    t.equal(threads.length, 1 + Number(RELAY_THREADS));
    const pools = [...series.keys()].filter((key) => key.startsWith('talkgroup_database_up'));
    t.equal(pools.length, 1 + Number(RELAY_THREADS));
  });
}

t.test('METRICS_PORT serves the metrics and nothing else', async (t) => {
  const s = await service(t);
  const { origin } = new URL(s.metrics);
  for (const address of [s.rest, s.ws.replace('ws:', 'http:')])
    t.equal((await fetch(`${address}/metrics`)).status, 404);
  for (const [method, path, status] of [
    ['GET', '/', 404],
    ['GET', '/healthz', 404],
    ['POST', '/metrics', 405],
    ['DELETE', '/metrics?x', 405],
  ] as const) {
    const response = await fetch(origin + path, { method });
    t.equal(response.status, status, `${method} ${path}`);
    t.equal(response.headers.get('error-code'), status === 404 ? 'unknown_path' : 'method_not_allowed');
    t.same(Object.keys((await response.json()) as object), ['error']);
  }
});

t.test(
  'the start fails and names METRICS_PORT or METRICS_HOST when the address cannot be bound',
  async (t) => {
    const holder = createServer().listen(0, '127.0.0.1');
    await once(holder, 'listening');
    t.teardown(() => holder.close());
    const taken = String((holder.address() as AddressInfo).port);
    for (const [variable, value, message] of [
      ['METRICS_PORT', taken, `cannot listen on METRICS_PORT ${taken} of 127.0.0.1: in use (EADDRINUSE)`],
      ['METRICS_HOST', '192.0.2.1', /^METRICS_HOST must be an address of this machine /],
    ] as const) {
      const running = await unready(t, { METRICS_PORT: '0', [variable]: value });
      await t.rejects(running.listen(), { name: 'ConfigError', message });
    }
  },
);

/** Built on a database that never comes. */
async function unready(t: Test, environment: Record<string, string>) {
  const DATABASE_URL = 'postgres://nobody@127.0.0.1:1/nothing';
  const ports = { PORT: '0', WS_PORT: '0', JWT_SECRET: SECRET, RELAY_THREADS: '0' };
  const config = readConfig({ ...ports, DATABASE_URL, ...environment });
  const running = await compose(config, createLog('silent'), (error) => t.fail(error.message));
  t.teardown(() => running.close());
  return running;
}

/** What /readyz answers, and the metrics that must say the same. */
async function hindrance({ rest, metrics }: { rest: string; metrics: string }) {
  const readyz = await fetch(`${rest}/readyz`);
  const { error } = (await readyz.json()) as { error?: string };
  const { series } = await scrape({ metrics });
  const reasons = ['starting', 'draining', 'database', 'relay'].filter(
    (reason) => series.get(`talkgroup_not_ready{reason="${reason}"}`) === 1,
  );
  return { status: readyz.status, error, ready: series.get('talkgroup_ready'), reasons };
}

t.test('/readyz and the metrics give the same reason: starting', async (t) => {
  const running = await unready(t, { METRICS_PORT: '0' });
  const { port, metricsPort } = await running.listen();
  void running.start(); // never ends here
  const addresses = { rest: `http://127.0.0.1:${port}`, metrics: `http://127.0.0.1:${metricsPort}/metrics` };
  t.same(await hindrance(addresses), { status: 503, error: 'starting', ready: 0, reasons: ['starting'] });
});

t.test('/readyz and the metrics give the same reason: database and draining', async (t) => {
  const { url, proxy, direct } = await proxiedDatabase(t);
  const s = await service(t, { DATABASE_URL: url, DRAIN_MS: '60000', TALK_SILENCE_MS: '60000' }, direct);
  const ann = await s.person('ann');
  const { number } = await s.talkgroup('fire', ann);
  const radio = await ann.radio();
  // A talker to the end, for whom the drain waits.
  radio.speaks(number, 'on and on', { start: true });
  await radio.hears('TALK_STARTED');
  t.match(await hindrance(s), { status: 200, ready: 1, reasons: [] });

  await proxy.stop();
  await eventually(async () => {
    const { error, ...rest } = await hindrance(s);
    assert.match(error ?? '', /^database: /);
    assert.deepEqual(rest, { status: 503, ready: 0, reasons: ['database'] });
  });
  const { series } = await scrape(s);
  t.equal(series.get('talkgroup_database_up{pool="rest"}'), 0);
  t.ok((series.get('talkgroup_database_pools_replaced_total{pool="rest"}') ?? 0) > 0);

  const closed = s.close();
  await radio.hears('GOAWAY');
  t.same(await hindrance(s), { status: 503, error: 'draining', ready: 0, reasons: ['draining'] });
  radio.socket.close(1000);
  await closed;
});
