// Floors of `single` and `broadcast` over relays that share a bus.
import t, { type Test } from 'tap';
import { homeOf } from '../../src/relay/cluster/home.js';
import { createMemoryNetwork } from '../helpers/relay/memory-bus.js';
import { directory, reached, relayOn, settled, sharing } from '../helpers/relay/relays.js';

/** Two relays that share talkgroup 1: the one that decides its floor, and the other one. */
async function pair(t: Test, mode: 'single' | 'broadcast' = 'single', role: 'user' | 'admin' = 'user') {
  const network = createMemoryNetwork();
  const reads = directory(mode, role);
  const [one, two] = [relayOn(t, network, { number: 1, reads }), relayOn(t, network, { number: 2, reads })];
  await reached(one, two);
  const [home, other] = homeOf([1, 2], 1) === 1 ? [one, two] : [two, one];
  return { network, reads, home, other };
}

t.test('a talker is granted the floor by the relay that decides, and is heard on both', async (t) => {
  const { home, other } = await pair(t);
  const [near, far] = [await home.radio(), await other.radio()];
  await sharing(2, home, other);
  far.speaks('one', { start: true });
  far.speaks('two');
  far.speaks('three', { end: true });
  await near.hears('TALK_ENDED');
  t.strictSame(
    near.arrivals.map((one) => ('frame' in one ? one.frame : one.type)).slice(1),
    ['TALK_STARTED', 'one', 'two', 'three', 'TALK_ENDED'],
    'heard in order',
  );
  t.strictSame(far.arrivals.map((one) => ('frame' in one ? one.frame : one.type)).slice(1), [
    'FLOOR_GRANTED',
    'TALK_STARTED',
    'TALK_ENDED',
  ]);
  await settled();
});
