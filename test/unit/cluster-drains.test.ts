// A relay that drains: its beacons say so, it decides no floor that another relay can decide, and no session goes there.

import t from 'tap';
import { readBeacon } from '../../src/relay/nodes/beacon.js';
import { HEADER_BYTES } from '../../src/relay/nodes/header.js';
import { homeOf, weightOf } from '../../src/relay/shared-floor/home.js';
import { eventually } from '../helpers/eventually.js';
import { createMemoryNetwork } from '../helpers/relay/memory-bus.js';
import {
  directory,
  type RelayOn,
  reached,
  relayOn,
  settled,
  sharing,
  talkgroupIdOf,
} from '../helpers/relay/relays.js';

t.jobs = 3;

const RELAYS = [1, 2, 3] as const;
const HOME = homeOf(RELAYS, 1);
const about = { talkgroup_id: talkgroupIdOf(1) };

t.test('the home is the relay of greatest weight that does not drain', (t) => {
  for (let talkgroup = 1; talkgroup < 200; talkgroup++)
    for (let mask = 0; mask < 8; mask++) {
      const isDraining = (relay: number) => (mask & (1 << (relay - 1))) !== 0;
      const staying = RELAYS.filter((relay) => !isDraining(relay));
      const home = homeOf(RELAYS, talkgroup, isDraining);
      const mayBe: readonly number[] = staying.length > 0 ? staying : RELAYS;
      const best = Math.max(...mayBe.map((relay) => weightOf(relay, talkgroup)));
      if (!mayBe.includes(home) || weightOf(home, talkgroup) !== best)
        t.fail(`talkgroup ${talkgroup} of ${mayBe}: ${home}`);
    }
  t.end();
});

t.test('from its beacon on another relay decides the floor, and a burst there goes on', async (t) => {
  const network = createMemoryNetwork();
  const reads = directory('single');
  const limits = { resumeMs: 60_000, sessionsParked: 100, drainMs: 20_000 };
  const all = RELAYS.map((number) => relayOn(t, network, { number, reads, limits }));
  await reached(...all);
  const home = all[HOME - 1] as RelayOn;
  const [one, two] = all.filter((relay) => relay !== home) as [RelayOn, RelayOn];
  const talker = await home.radio();
  const [ann, bob] = [await one.radio(), await two.radio()];
  await sharing(2, ...all);
  talker.speaks('1', { start: true });
  await ann.hears('TALK_STARTED');
  t.ok((home.figures()?.homes.here ?? 0) > 0);

  let said = 0;
  network.lose((_from, _to, _subject, bytes) => {
    if (readBeacon(bytes.subarray(HEADER_BYTES))?.draining === true) said++;
    return false;
  });
  const closed = home.relay.close();
  t.match(await talker.hears('GOAWAY'), { resumable: true });
  await eventually(() => {
    if (home.figures()?.homes.here !== 0) throw new Error('it decides');
    if (said === 0) throw new Error('no beacon says so');
  });
  await settled();

  ann.says({ type: 'FLOOR_REQUEST', ...about });
  t.match(await ann.hears('FLOOR_DENIED'), { code: 'busy', talker: { session: talker.session.number } });
  bob.says({ type: 'FLOOR_REQUEST', ...about, queue: true });
  t.match(await bob.hears('FLOOR_QUEUED'), { position: 1, size: 1 });
  talker.speaks('2', { sequence: 1, end: true });
  t.match(await ann.hears('TALK_ENDED'), { code: 'released', frames: 2 });
  await bob.hears('FLOOR_GRANTED');
  bob.speaks('3', { start: true, end: true });
  await eventually(() => {
    if (!ann.frames().includes('3')) throw new Error('not heard');
  });
  t.same(talker.closes, [[1012, 'restart']], 'its own burst was over');
  await t.rejects(
    home.radio(ann.user, { resume: ann.token }),
    { message: 'restart' },
    'no session goes there',
  );

  const back = await one.radio(talker.user, { resume: talker.token });
  t.equal(back.session.number, talker.session.number);
  await closed;
});

t.test('a relay beside one that drains has none to give its sessions to', async (t) => {
  const network = createMemoryNetwork();
  const limits = { resumeMs: 60_000, sessionsParked: 100, drainMs: 20_000 };
  const [a, b] = [1, 2].map((number) => relayOn(t, network, { number, limits })) as [RelayOn, RelayOn];
  await reached(a, b);
  const [ann, bob] = [await a.radio(), await b.radio()];
  await sharing(2, a, b);
  ann.speaks('1', { start: true });
  await bob.hears('TALK_STARTED');
  let said = 0;
  network.lose((_from, _to, _subject, bytes) => {
    if (readBeacon(bytes.subarray(HEADER_BYTES))?.draining === true) said++;
    return false;
  });
  const first = a.relay.close();
  t.match(await ann.hears('GOAWAY'), { resumable: true });
  await eventually(() => {
    if (said === 0) throw new Error('no beacon says so');
  });
  await settled();
  const second = b.relay.close();
  const goaway = await bob.hears('GOAWAY');
  t.notOk('resumable' in goaway, 'it ends as one alone');
  ann.speaks('2', { sequence: 1, end: true });
  await Promise.all([first, second]);
});
