// What the bench says of failing nodes: which run is invalid, which target is met, and how it cuts a node off.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import t from 'tap';
import { createRecorder } from '../../bench/figures/histogram.js';
import type { RestartsPlayed } from '../../bench/generator/loads/restarts.js';
import { nowMs } from '../../bench/machine/clock.js';
import { connectedTo } from '../../bench/machine/connections.js';
import { faultsOf, goalsOf, type Seen } from '../../bench/scenarios/relays/cluster-faults.js';
import { startLink } from '../../bench/servers/link.js';

function latencyOf(...values: readonly number[]) {
  const recorder = createRecorder();
  for (const ms of values) recorder.record(ms);
  return recorder.latency();
}

const observed = (ms: number, faults: readonly string[] = []) => ({
  ...{ latency: latencyOf(ms), late: latencyOf(), again: 0, faults, lost: 0 },
});
const restart = (changes: Partial<RestartsPlayed> = {}): RestartsPlayed => ({
  ...{ closed: 10, back: 10, resumed: 10, wholeAfterMs: [900], awayMs: [950], refused: {} },
  ...{ generatorShare: 0.1, ...changes },
});

/** All targets are met. */
const WELL: Seen = {
  killed: observed(290),
  stopped: observed(1_800),
  healed: observed(200),
  gaps: observed(80),
  leaves: observed(5),
  returns: {
    same: { welcome: latencyOf(5), radios: 1, resumed: 1 },
    other: { welcome: latencyOf(20), radios: 1, resumed: 1 },
    late: latencyOf(),
    generatorShare: 0.1,
  },
  restarts: [restart(), restart()],
};

const missedIn = (seen: Seen) =>
  goalsOf(seen, faultsOf(seen)).flatMap(({ name, isMet }) => (isMet === true ? [] : name));

t.test('each target is missed by itself', async (t) => {
  t.strictSame(faultsOf(WELL), []);
  t.strictSame(missedIn(WELL), []);
  const { returns } = WELL;
  const slow: readonly [Partial<Seen>, RegExp][] = [
    [{ killed: observed(301) }, /kill -9/],
    [{ stopped: observed(1_902) }, /stands still/],
    [{ gaps: observed(301) }, /longest gap/],
    [{ returns: { ...returns, other: { ...returns.other, welcome: latencyOf(26) } } }, /WELCOME/],
    [{ returns: { ...returns, other: { ...returns.other, resumed: 0 } } }, /went on at another node/],
    [{ restarts: [restart(), restart({ resumed: 9 })] }, /went on over a restart/],
    [{ restarts: [restart({ wholeAfterMs: [1, 2_001] }), restart()] }, /talkgroup whole/],
  ];
  for (const [changes, name] of slow) {
    const missed = missedIn({ ...WELL, ...changes });
    t.equal(missed.length, 1, `${name}`);
    t.match(missed[0], name);
  }
  t.equal(missedIn({ ...WELL, healed: observed(251) }).length, 1, 'the 99th percentile alone');
  t.equal(missedIn({ ...WELL, healed: observed(501) }).length, 2, 'and the longest');
  t.equal(missedIn({ ...WELL, leaves: observed(251) }).length, 2);
});

t.test('a radio that is not in any percentile makes the run invalid, and no target is met', async (t) => {
  const { returns } = WELL;
  const invalid: readonly Partial<Seen>[] = [
    { killed: observed(1, ['a press was not heard']) },
    { returns: { ...returns, same: { ...returns.same, radios: 2 } } },
    { restarts: [restart({ back: 9, resumed: 9 })] },
    { restarts: [restart({ generatorShare: 0.9 })] },
  ];
  for (const changes of invalid) {
    const seen = { ...WELL, ...changes };
    t.equal(faultsOf(seen).length, 1);
    t.ok(goalsOf(seen, faultsOf(seen)).every(({ isMet }) => isMet === null));
  }
});

t.test('a link carries bytes, is cut off at both ends, and says when it is used again', async (t) => {
  const server = createServer((socket) => void socket.on('error', () => {}).pipe(socket));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => server.close());
  const { port: target } = server.address() as AddressInfo;
  const link = await startLink(target);
  t.teardown(() => link.stop());
  const open = async () => {
    const socket = connect(link.port, '127.0.0.1');
    t.teardown(() => socket.destroy());
    await once(socket, 'connect');
    return socket;
  };
  const socket = await open();
  socket.write('there');
  t.equal(String((await once(socket, 'data'))[0]), 'there');
  t.equal(connectedTo(process.pid, [1, target]), 1, 'the second of these ports');
  t.equal(connectedTo(process.pid, [1]), -1);

  const lost = once(socket, 'error');
  await link.cut();
  t.match(await lost, [{ code: 'ECONNRESET' }]);
  await t.rejects(open(), { code: 'ECONNREFUSED' });

  const healing = link.heal();
  const beforeMs = nowMs();
  const again = await open();
  const healedAtMs = await healing;
  t.ok(healedAtMs >= beforeMs && healedAtMs <= nowMs());
  again.write('again');
  t.equal(String((await once(again, 'data'))[0]), 'again');
});
