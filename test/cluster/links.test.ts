// Three nodes and three nats-servers while links and routes are slow, cut or reset, and the database of one node is away.
// The clock of one node is an hour ahead all the while.
import { randomBytes } from 'node:crypto';
import t from 'tap';
import { throughProxy } from '../helpers/database/proxied-database.js';
import { eventually } from '../helpers/eventually.js';
import type { ChaosProxy } from '../helpers/network/chaos-proxy.js';
import { PLACES, type Place } from '../helpers/network/nats-cluster.js';
import { unless } from '../helpers/programs.js';
import { figure, threeNodes } from '../helpers/service/three-nodes.js';

const HOUR_MS = 3_600_000;
const SECRETS_KEY = randomBytes(32).toString('base64');

/** Loaded by the node before anything else. */
const AHEAD = `data:text/javascript,${encodeURIComponent(`
  const Real = Date;
  globalThis.Date = class extends Real {
    constructor(...given) { if (given.length === 0) super(Real.now() + ${HOUR_MS}); else super(...given); }
    static now() { return Real.now() + ${HOUR_MS}; }
  };`)}`;

t.setTimeout(300_000);

t.test('links, routes, the database and the clock', { skip: unless('nats-server') }, async (t) => {
  const proxies: ChaosProxy[] = [];
  const three = await threeNodes(t, {
    async databaseOf(at, direct) {
      if (at !== 2) return direct;
      const { url, proxy } = await throughProxy(t, direct);
      proxies.push(proxy);
      return url;
    },
    environmentOf: (at) => ({ SECRETS_KEY, ...(at === 1 && { NODE_OPTIONS: `--import=${AHEAD}` }) }),
  });
  const { nats, node, station, metric } = three;
  await nats.pin();
  await three.isWell();

  /** Whether a listener has heard a talker since then. */
  const hears = (listener: Place, talker: Place, sinceMs: number) =>
    (station(listener).ear.lastOf.get(station(talker).talker.session) ?? 0) > sinceMs;
  const untilHeard = (listener: Place, talker: Place, sinceMs = performance.now()) =>
    eventually(() => {
      if (!hears(listener, talker, sinceMs)) throw new Error(`${listener} does not hear ${talker}`);
    });
  const untilReach = (at: Place, reach: string, sinceMs: number) =>
    eventually(() => {
      const last = station(at).ear.reaches.at(-1);
      if (last?.reach !== reach || last.atMs < sinceMs) throw new Error(`${at} did not become ${reach}`);
    });

  /** A better reach is told 5 s after the last change. */
  const untilWhole = async () => {
    await three.isWell();
    await eventually(() => {
      for (const at of PLACES)
        if ((station(at).ear.reaches.at(-1)?.reach ?? 'whole') !== 'whole')
          throw new Error(`${at} is not whole`);
    });
  };

  t.test('a clock that is an hour ahead changes nothing but the times that are shown', async (t) => {
    const shown = Number(station(1).talker.welcome?.server_time) - Date.now();
    t.ok(shown > HOUR_MS - 60_000, `${shown} ms`);
    for (const at of PLACES)
      t.equal(await metric(at, 'talkgroup_bus_frames_missed_total{reason="late"}'), 0, 'no frame is late');
  });

  t.test('a delay of 300 ms is heard, as a delay', async (t) => {
    nats.link(1, 1).delay(300);
    await three.areWhole(1);
    nats.link(1, 1).delay(0);
    await three.isWell();
    three.judge(t, 'delay');
  });

  t.test('over a link of 8 kB/s no old speech is heard, and what is left out is told', async (t) => {
    const link = nats.link(1, 1);
    link.limit(8000);
    await three.isSaid(1, 3);
    link.limit(Number.POSITIVE_INFINITY);
    const wellMs = await three.isWell();
    figure(`slow link: everybody is heard ${Math.round(wellMs)} ms after it is wide again`);
    three.judge(t, 'slow link');
  });

  t.test('resets of a link cost some frames, told as missed', async (t) => {
    for (let each = 0; each < 12; each++) {
      const at = PLACES[each % 3] ?? 0;
      nats.link(at, at).reset();
      await untilHeard(((at + 1) % 3) as Place, at);
    }
    await three.isWell();
    await three.haveEnded();
    three.judge(t, 'resets');
  });

  t.test('a link that carries nothing any more is left for another server', async (t) => {
    await nats.release();
    const sinceMs = performance.now();
    nats.link(1, 1).hole();
    await eventually(async () => {
      if ((await metric(1, 'talkgroup_cluster_peers')) === 2 && performance.now() - sinceMs > 1500) return;
      throw new Error('not reached');
    });
    await untilHeard(0, 1, performance.now());
    const ms = performance.now() - sinceMs;
    figure(`hole in a link: heard again after ${Math.round(ms)} ms`);
    t.ok(ms < 3 * 3000);
    nats.link(1, 1).heal();
    nats.link(1, 1).reset();
    await nats.pin();
    await three.isWell();
    three.judge(t, 'hole');
  });

  t.test('cut off from the others, a node talks on alone, and the others go on', async (t) => {
    await untilWhole();
    const { session } = station(0).talker;
    const last = () => station(1).ear.bursts.findLast((one) => one.session === session);
    // In the first half of a burst: 0.8 s of it are left, and its last frame does not come over a route that is cut.
    await eventually(() => {
      const index = last()?.indices.at(-1) ?? 0;
      if (last()?.end !== null || index < 1 || index > 20) throw new Error(`frame ${index}`);
    });
    const cutAtMs = performance.now();
    for (const other of [1, 2] as const) {
      nats.route(0, other).refuse();
      nats.route(0, other).reset();
    }
    await untilReach(0, 'alone', cutAtMs);
    for (const at of [1, 2] as const) await untilReach(at, 'partial', cutAtMs);
    figure(`cut: told after ${Math.round(performance.now() - cutAtMs)} ms`);
    await Promise.all([untilHeard(1, 2), untilHeard(2, 1), untilHeard(0, 0)]);
    t.match(last()?.end, { code: 'disconnected' });
    const healedAtMs = performance.now();
    for (const other of [1, 2] as const) await nats.route(0, other).listen();
    await three.isWell();
    figure(`cut healed: everybody is heard after ${Math.round(performance.now() - healedAtMs)} ms`);
    three.judge(t, 'cut');
  });

  t.test('with one route away, two nodes do not hear each other, and the third hears both', async (t) => {
    await untilWhole();
    const cutAtMs = performance.now();
    nats.route(0, 1).refuse();
    nats.route(0, 1).reset();
    for (const at of [0, 1] as const) await untilReach(at, 'partial', cutAtMs);
    const sinceMs = performance.now();
    await Promise.all([untilHeard(2, 0), untilHeard(2, 1), untilHeard(0, 2), untilHeard(1, 2)]);
    t.notOk(hears(0, 1, sinceMs) || hears(1, 0, sinceMs));
    t.equal(await metric(2, 'talkgroup_cluster_peers'), 2);
    await nats.route(0, 1).listen();
    await three.isWell();
    three.judge(t, 'not transitive');
  });

  t.test('without its database a node talks on, and admits no radio', async (t) => {
    await untilWhole(); // else encryption cannot be required
    const person = await node(0).person('late');
    const [hal, ida] = [await node(0).person('hal'), await node(0).person('ida')];
    const group = await node(0).talkgroup('secret', hal, ida);
    const [listener, talker] = [await node(0).radioOf(hal), await node(2).radioOf(ida)];
    talker.speaks(group.number, 'before', { start: true, end: true });
    await listener.hearsText('before');
    for (const proxy of proxies) {
      proxy.refuse();
      proxy.reset();
    }
    await eventually(async () => {
      const radio = await node(2).radioOf(person);
      if (radio.welcome !== null) throw new Error('taken in');
    });
    const wellMs = await three.isWell();
    figure(`database of one node away: everybody is heard after ${Math.round(wellMs)} ms`);
    const elsewhere = await node(0).radioOf(person);
    t.ok(elsewhere.welcome);
    // What the database could not tell it the other nodes do.
    await node(0).admin.patch(`/talkgroups/${group.id}`, { encryption: 'required' });
    await talker.hears('TALKGROUP_CHANGED', ({ encryption }) => encryption === 'required');
    talker.speaks(group.number, 'in the clear', { start: true });
    t.match(await talker.hears('ERROR'), { code: 'encryption_required' });
    await listener.settled();
    t.notOk(listener.frames.some(({ text }) => text === 'in the clear'));
    for (const proxy of proxies) await proxy.listen();
    const backAtMs = performance.now();
    await eventually(async () => {
      const radio = await node(2).radioOf(person);
      if (radio.welcome === null) throw new Error('not taken in');
    });
    figure(`database back: the node takes radios in after ${Math.round(performance.now() - backAtMs)} ms`);
    three.judge(t, 'database away');
  });
});
