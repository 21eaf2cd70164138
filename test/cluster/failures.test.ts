// Three nodes and three nats-servers, one after the other killed or frozen while a radio talks on each node.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import t from 'tap';
import { WebSocket } from 'ws';
import { comesTrue, eventually } from '../helpers/eventually.js';
import { PLACES, type Place } from '../helpers/network/nats-cluster.js';
import { unless } from '../helpers/programs.js';
import { doctorOf } from '../helpers/service/doctor.js';
import type { Json, Radio } from '../helpers/service/service.js';
import { figure, gapOf, threeNodes } from '../helpers/service/three-nodes.js';
import { within } from '../helpers/within.js';

/** A node stands still for this time (ms): much longer than the 1 s that speech may be old then. */
const FROZEN_MS = 6000;

/** A talkgroup may then require encryption. */
const SECRETS_KEY = randomBytes(32).toString('base64');

t.setTimeout(300_000);

t.test('nodes and servers that die or freeze', { skip: unless('nats-server') }, async (t) => {
  const three = await threeNodes(t, { environmentOf: () => ({ SECRETS_KEY }) });
  const { nats, node, station, metric } = three;
  const others = (at: number) => PLACES.filter((one) => one !== at);

  /** Sends the signal in the middle of a burst of this node: without one, or with its end on the way, none would be cut off. */
  async function signalInBurst(at: Place, signal: NodeJS.Signals): Promise<number> {
    const { talker, speech } = station(at);
    speech.goesOn();
    const sinceMs = performance.now();
    await eventually(() => {
      for (const other of others(at)) {
        const { ear } = station(other);
        const burst = ear.bursts.findLast(({ session }) => session === talker.session);
        const heard = burst?.indices.length ?? 0;
        if (burst?.end !== null || heard < 3 || (ear.saidOf.get(talker.session) ?? 0) <= sinceMs + 1)
          throw new Error('not in the middle of a burst');
      }
    });
    const atMs = performance.now();
    node(at).signal(signal);
    speech.mayEnd();
    return atMs;
  }

  t.test(
    'a NATS server that is killed costs some frames, told as missed, and no change of reach',
    async (t) => {
      for (const server of PLACES) {
        const sinceMs = performance.now();
        await nats.kill(server);
        await three.isWell();
        figure(`server ${server} killed: longest gap ${three.longestGap(sinceMs)} ms`);
        within(t, three.longestGap(sinceMs), 900, 'B9 with three times its bound');
        await three.haveEnded();
        three.judge(t, `server ${server} killed`);
        for (const at of PLACES) t.equal(await metric(at, 'talkgroup_bus_up'), 1);
        await nats.start(server);
        await nats.isWhole();
      }
      t.strictSame(
        PLACES.flatMap((at) => station(at).ear.reaches),
        [],
      );
    },
  );

  t.test('a NATS server that freezes is left for another one', async (t) => {
    await nats.pin();
    await nats.release();
    await three.isWell();
    for (const server of PLACES) {
      const frozenAtMs = performance.now();
      nats.signal(server, 'SIGSTOP');
      await eventually(() => {
        if (PLACES.some((at) => nats.serverOf(at) === server)) throw new Error('still there');
      });
      const leftMs = performance.now() - frozenAtMs;
      figure(`server ${server} frozen: left after ${Math.round(leftMs)} ms`);
      await three.isWell();
      figure(`server ${server} frozen: longest gap ${three.longestGap(frozenAtMs)} ms`);
      within(t, leftMs, 4500, 'left within three times 1.5 s');
      nats.signal(server, 'SIGCONT');
      await nats.isWhole();
      await three.isWell();
      three.judge(t, `server ${server} frozen`);
    }
  });

  t.test('a node that freezes: its bursts end elsewhere, and begin again when it goes on', async (t) => {
    for (const at of PLACES) {
      const { session } = station(at).talker;
      const frozenAtMs = await signalInBurst(at, 'SIGSTOP');
      const ended = await Promise.all(
        others(at).map((other) =>
          eventually(() => {
            const last = station(other).ear.bursts.findLast((one) => one.session === session)?.end;
            if (last?.code !== 'disconnected' || last.atMs < frozenAtMs)
              throw new Error(`not ended: ${JSON.stringify(last)}, frozen at ${frozenAtMs}`);
            return last.atMs - frozenAtMs;
          }),
        ),
      );
      figure(`node ${at} frozen: its bursts ended after ${ended.map(Math.round)} ms`);
      within(t, Math.max(...ended), 4500, 'ended');
      for (const other of others(at)) t.equal(await metric(other, 'talkgroup_cluster_peers'), 1);
      if (at === 0) await delay(Math.max(0, FROZEN_MS - (performance.now() - frozenAtMs)));
      node(at).signal('SIGCONT');
      const frozenMs = performance.now() - frozenAtMs;
      const wellMs = await three.isWell();
      figure(`node ${at} goes on: everybody is heard after ${Math.round(wellMs)} ms`);
      three.judgeAge(t, `node ${at} frozen for ${Math.round(frozenMs)} ms`, at);
    }
  });

  t.test('a node that is killed: its bursts end elsewhere, and its radios come back', async (t) => {
    for (const at of PLACES) {
      const { session } = station(at).talker;
      const killedAtMs = await signalInBurst(at, 'SIGKILL');
      await node(at).exit();
      for (const other of others(at)) {
        const end = await eventually(() => {
          const last = station(other).ear.bursts.findLast((one) => one.session === session)?.end;
          if (last === null || last === undefined) throw new Error('not ended');
          return last;
        });
        const endedMs = Math.round(end.atMs - killedAtMs);
        figure(`node ${at} killed: its burst ended at node ${other} after ${endedMs} ms`);
        t.equal(end.code, 'disconnected');
        t.ok(endedMs >= 0, `after ${endedMs} ms`);
        within(t, endedMs, 4500, 'ended');
        await eventually(() => {
          if (station(other).ear.reaches.at(-1)?.reach !== 'partial') throw new Error('REACH did not come');
        });
        const partialMs = (station(other).ear.reaches.at(-1)?.atMs ?? Number.NaN) - killedAtMs;
        // Negative: it was partial already, because a node that was killed before is missed for a minute.
        if (partialMs >= 0)
          figure(`node ${at} killed: partial at node ${other} after ${Math.round(partialMs)} ms`);
      }
      await three.restart(at);
      const wellMs = await three.isWell();
      figure(`node ${at} restarted: everybody is heard after ${Math.round(wellMs)} ms`);
      three.judge(t, `node ${at} killed`);
    }
  });

  t.test('without NATS each node goes on alone, and nothing old is heard when it is back', async (t) => {
    const awayAtMs = performance.now();
    for (const server of PLACES) await nats.kill(server);
    for (const at of PLACES) {
      await eventually(() => {
        const last = station(at).ear.reaches.at(-1);
        if (last?.reach !== 'alone' || last.atMs < awayAtMs) throw new Error('REACH did not come');
      });
      const aloneMs = (station(at).ear.reaches.at(-1)?.atMs ?? Number.NaN) - awayAtMs;
      figure(`NATS away: alone at node ${at} after ${Math.round(aloneMs)} ms`);
      t.equal(await metric(at, 'talkgroup_bus_up'), 0);
      const [listener] = await node(at).sql`select id from users where username = ${`listener-${at}`}`;
      await comesTrue('the diagnosis names the cause', async () => {
        const path = `/users/${listener?.id}/diagnosis?talkgroup_id=${three.group.id}`;
        const { body } = await node(at).admin.call('GET', path);
        return (body.findings as Json[] | undefined)?.[0]?.code === 'reach';
      });
      const { ear, talker } = station(at);
      const before = performance.now();
      await eventually(() => {
        if ((ear.lastOf.get(talker.session) ?? 0) < before) throw new Error('nothing heard');
      });
      const own = ear.bursts.filter(({ session }) => session === talker.session);
      figure(`NATS away: longest gap at the node of the talker ${gapOf(own, awayAtMs)} ms`);
    }
    const backAtMs = performance.now();
    for (const server of PLACES) await nats.start(server);
    await nats.isWhole();
    await three.isWell();
    figure(`NATS back: everybody is heard after ${Math.round(performance.now() - backAtMs)} ms`);
    await three.haveEnded();
    three.judge(t, 'NATS away');
  });

  t.test(
    '“17 hears nothing”: the command says the cause first, whichever node the radio is at',
    async (t) => {
      const home = node(0);
      const doctor = doctorOf(home);
      const user = await home.person('17', { serial: 'Engine 17' });
      const field = three.group.id;
      const vault = await home.talkgroup('vault', user);
      // Not by REST: nodes that were killed are missing, and may be some that do not enforce it.
      await home.sql`update talkgroups set encryption = 'required' where id = ${vault.id}`;
      const says = (code: string, talkgroup?: string) =>
        doctor.says(t, code, {
          user: '17',
          device: 'Engine 17',
          ...(talkgroup !== undefined && { talkgroup }),
        });
      const join = () =>
        home.sql`insert into memberships (user_id, talkgroup_id, site) values (${user.id}, ${field}, 'depot')`;
      const isLagging = (at: Place, count: number) =>
        comesTrue(
          `${count} lag at node ${at}`,
          async () => (await metric(at, 'talkgroup_relay_receivers_lagging')) === count,
        );
      const radioAt = async (at: Place) => {
        const radio = await node(at).radioOf(user);
        t.teardown(() => radio.socket.terminate());
        await radio.hearsFrame();
        return radio;
      };
      const leaves = async ({ socket, closes }: Radio) => {
        socket.close(1000);
        await closes();
      };

      // TLS to a port without: no connection reaches the relay.
      const lost = new WebSocket(`${node(1).ws.replace('ws:', 'wss:')}/ws?token=${user.token}`);
      await once(lost, 'error');
      await says('no_session');

      const stranger = await node(1).radioOf(user);
      await says('not_member', 'field');
      await leaves(stranger);
      await join();

      const radio = await radioAt(1);
      await radio.asks({ type: 'SUBSCRIBE', talkgroup_ids: [field], mode: 'events' });
      await says('events_only', 'field');
      t.teardown(() => home.signal('SIGCONT'));
      home.signal('SIGSTOP');
      await comesTrue('node 0 stands still', async () => (await metric(1, 'talkgroup_cluster_peers')) === 1);
      const silent = await says('events_only', 'field');
      home.signal('SIGCONT');
      t.match(silent, /\n1 of 3 nodes did not answer\./, 'a node that does not answer hides no cause');
      await radio.asks({ type: 'SUBSCRIBE', talkgroup_ids: [field], mode: 'talk' });
      await three.isWell();

      await says('no_permission', 'vault');
      await home.sql`update memberships set may_have_keys = true where talkgroup_id = ${vault.id}`;
      await says('no_holder', 'vault');

      radio.socket.pause();
      await isLagging(1, 1);
      await says('lagging', 'field');
      radio.socket.resume();
      await isLagging(1, 0);
      await leaves(radio);

      const cut = await radioAt(2);
      const cutAtMs = performance.now();
      for (const server of PLACES) {
        nats.link(2, server).refuse();
        nats.link(2, server).reset();
      }
      await comesTrue('node 2 is alone', () => {
        const last = station(2).ear.reaches.at(-1);
        return last?.reach === 'alone' && last.atMs > cutAtMs;
      });
      t.match(
        await says('reach', 'field'),
        new RegExp(`^The node \\S+ ${node(2).pid} \\S+, where 17 is connected, is cut off`),
      );
      cut.socket.pause(); // as one whose network is lost: its node keeps the connection
      await isLagging(2, 1);
      const moved = await radioAt(1);
      t.match(
        await says('reach', 'field'),
        new RegExp(
          `^The node \\S+ ${node(1).pid} \\S+, where 17 is connected, does not reach the node \\S+ ${node(2).pid} `,
        ),
        'of two connections the newer one counts',
      );
      cut.socket.terminate();
      await nats.release();
      await three.isWell();

      await home.admin.patch(`/devices/${user.device}/status`, { active: false });
      t.match(await moved.closes(), { code: 1008 });
      await says('device_disabled', 'field');
      await home.admin.patch(`/devices/${user.device}/status`, { active: true });
      const last = await radioAt(1);
      await home.admin.post(`/users/${user.id}/revoke`);
      t.match(await last.closes(), { code: 1008 });
      await says('rejected', 'field');
    },
  );
});
