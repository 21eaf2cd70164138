// What a relay does not take from a bus that others use, too: another database, and another talkgroup with the same number.

import t from 'tap';
import { noticeOf } from '../../src/db/notice.js';
import type { FloorMode } from '../../src/protocol/codes.js';
import { type MembersTold, readBody } from '../../src/relay/cluster/bodies.js';
import { bodyOf } from '../../src/relay/nodes/body.js';
import { EVERY_RELAY, relaySubject, talkgroupSubject } from '../../src/relay/nodes/bus.js';
import { HEADER_BYTES, HeaderWriter, kinds, wholeMs } from '../../src/relay/nodes/header.js';
import { PEERS_MAX } from '../../src/relay/nodes/peers/peers.js';
import { isEnforcedByAll, isRecordedByAll } from '../../src/relay/relay-side.js';
import { eventually } from '../helpers/eventually.js';
import { createMemoryNetwork } from '../helpers/relay/memory-bus.js';
import {
  DATABASE,
  directory,
  type RelayOn,
  reached,
  reaching,
  relayOn,
  settled,
  sharing,
  talkgroupIdOf,
} from '../helpers/relay/relays.js';

t.test('relays of two databases on one bus take nothing of each other, whatever their ids', async (t) => {
  const network = createMemoryNetwork();
  const errors: string[] = [];
  const failed = (message: string) => errors.push(message);
  const of = (number: number, database: number) => relayOn(t, network, { number, database, failed });
  const [a, b, c, d] = [of(1, 1), of(2, 1), of(2, 2), of(3, 2)];
  await Promise.all([reached(a, b), reached(c, d)]);
  const [ann, bob, cid, dan] = [await a.radio(), await b.radio(), await c.radio(), await d.radio()];
  await sharing(2, a, b, c, d);
  cid.speaks('staging', { start: true });
  bob.speaks('production', { start: true });
  await Promise.all([ann.hears('TALK_STARTED'), dan.hears('TALK_STARTED')]);
  await settled();
  await eventually(() => {
    for (const relay of [a, b]) if (relay.figures()?.elsewhere !== 2) throw new Error('not counted');
  });
  t.strictSame([ann.frames(), dan.frames()], [['production'], ['staging']]);
  await c.close();
  await settled();
  for (const relay of [a, b]) {
    t.equal(relay.figures()?.peers, 1);
    t.equal(relay.figures()?.elsewhere, 2, 'a leave of the other database with the same id');
    t.ok((relay.figures()?.counts.otherDatabase ?? 0) > 2);
    t.equal(relay.figures()?.counts.overtaken, 0);
  }
  t.match(errors, [/^relay of another database/, /^relay/, /^relay/, /^relay/]);
  t.equal(errors.length, 4, 'once at each');
});

t.test('relays without a common key are told from each other, and go on', async (t) => {
  const network = createMemoryNetwork();
  const errors: string[] = [];
  const failed = (message: string) => errors.push(message);
  const of = (number: number, keys: readonly number[]) => relayOn(t, network, { number, keys, failed });
  const [before, during, after, earlier] = [of(1, [10]), of(2, [20, 10]), of(3, [20]), of(4, [])];
  await reached(before, during, after, earlier);
  const others = () => [before, during, after, earlier].map(({ figures }) => figures()?.otherKeys);
  await eventually(() => {
    if (others().join() !== '1,0,1,0') throw new Error(`other keys: ${others()}`);
  });
  await settled();
  t.equal(errors.length, 2, 'once at each of the two, however many beacons come');
  for (const error of errors) t.match(error, /^relay accepts none of the keys of this one/);
  const [ann, bob] = [await before.radio(), await after.radio()];
  await sharing(2, before, after);
  ann.speaks('all the same', { start: true });
  await bob.hears('TALK_STARTED');
  await settled();
  t.strictSame(bob.frames(), ['all the same']);
  await after.close();
  await eventually(() => {
    if (others().slice(0, 2).join() !== '0,0') throw new Error('it is counted after it left');
  });
});

t.test('a relay that says nothing of recording records nothing, and those that record say so', async (t) => {
  const network = createMemoryNetwork();
  const [a, b] = [relayOn(t, network, { number: 1 }), relayOn(t, network, { number: 2 })];
  await reached(a, b);
  const becomes = (expected: boolean) =>
    eventually(() => {
      if (isRecordedByAll([{ cluster: a.figures() }]) !== expected) throw new Error('not yet');
    });
  await becomes(true);
  const [bus, writer] = [network.join(), new HeaderWriter(7, DATABASE)];
  const reports = (records: object) => {
    const beacon = bodyOf({ encrypts: true, ...records, heard: [[1, wholeMs(performance.now()), 0]] });
    bus.publish(EVERY_RELAY, writer.write(kinds.beacon, 0, 5, 0), beacon);
  };
  reports({});
  await becomes(false);
  reports({ records: true });
  await becomes(true);
});

t.test('encryption is enforced by all until a relay reports that it does not enforce it', async (t) => {
  const network = createMemoryNetwork();
  const [a, b] = [relayOn(t, network, { number: 1 }), relayOn(t, network, { number: 2 })];
  await reached(a, b);
  const isEnforced = () => isEnforcedByAll([{ cluster: a.figures() }]);
  const becomes = (expected: boolean) =>
    eventually(() => {
      if (isEnforced() !== expected) throw new Error('not yet');
    });
  t.equal(isEnforced(), false, 'just started, so the beacons of others may be on their way');
  await becomes(true);
  const [bus, writer] = [network.join(), new HeaderWriter(7, DATABASE)];
  const reports = (encrypts: boolean) => {
    const beacon = bodyOf({ encrypts, heard: [[1, wholeMs(performance.now()), 0]] });
    bus.publish(EVERY_RELAY, writer.write(kinds.beacon, 0, 5, 0), beacon);
  };
  reports(false);
  await reaching(2, a);
  t.equal(isEnforced(), false);
  t.equal(isEnforcedByAll([{ cluster: null }]), true, 'one node with one thread');
  t.equal(isEnforcedByAll(null), false, 'a thread that did not answer');
  reports(true);
  await becomes(true);
  reports(false);
  await becomes(false);
});

t.test('a burst of another talkgroup with the same number is not played', async (t) => {
  const network = createMemoryNetwork();
  const a = relayOn(t, network, { number: 1 });
  const ann = await a.radio();
  const [peer, writer] = [network.join(), new HeaderWriter(7, DATABASE)];
  const beacon = bodyOf({ encrypts: true, heard: [[1, wholeMs(performance.now()), 0]] });
  peer.publish(EVERY_RELAY, writer.write(kinds.beacon, 0, 5, 0), beacon);
  await reaching(1, a);
  const started = (session: number, talkgroup: number) => ({
    talkgroup_id: talkgroupIdOf(talkgroup),
    ...{ session, burst: 1, user_id: talkgroupIdOf(9), username: 'x', priority: 1, emergency: false },
    ...{ started_at: '2026-11-23T08:00:00.000Z', frames: 0, sequence: 0, type: 'GOAWAY', event: 77 },
  });
  for (const [seq, body] of [started(7001, 2), started(7002, 1)].entries())
    peer.publish(talkgroupSubject(1), writer.write(kinds.started, seq + 1, 5, 0), bodyOf(body));
  await ann.hears('TALK_STARTED').then(({ session, event }) => t.strictSame([session, event], [7002, 1]));
  t.notOk(ann.messages.some(({ type }) => type === 'TALK_STARTED' || type === 'GOAWAY'));
});

/** What the tests say as another relay of the same service, which the relay 1 reaches. */
async function otherRelay(network: ReturnType<typeof createMemoryNetwork>, reached: RelayOn) {
  const [bus, writer] = [network.join(), new HeaderWriter(7, DATABASE)];
  const beacon = () =>
    bus.publish(
      EVERY_RELAY,
      writer.write(kinds.beacon, 0, 5, 0),
      bodyOf({ encrypts: true, heard: [[1, wholeMs(performance.now()), 0]] }),
    );
  beacon();
  await reaching(1, reached);
  let seq = 0;
  const pages: MembersTold[] = [];
  bus.subscribe(relaySubject(7), (bytes) => {
    const page =
      bytes[0] === kinds.membersTold ? readBody('membersTold', bytes.subarray(HEADER_BYTES)) : null;
    if (page !== null) pages.push(page);
  });
  return {
    beacon,
    /** Asks for a page of members, and resolves with it. */
    page(limit: number): Promise<MembersTold> {
      const body = bodyOf({ ask: 1, number: 1, after: 0, limit });
      bus.publish(relaySubject(1), writer.write(kinds.membersAsked, 0, 5, 0), body);
      return eventually(() => {
        const page = pages.shift();
        if (page === undefined) throw new Error('no page');
        return page;
      });
    },
    saysSettings(revision: number, floor_mode: FloorMode, max_talk_ms: number): void {
      const settings = { revision, floor_mode, max_talk_ms };
      const body = bodyOf({ online: 1, changes: 0, settings });
      bus.publish(talkgroupSubject(1), writer.write(kinds.count, ++seq, 5, 0), body);
    },
  };
}

const changeOf = (number: number) =>
  noticeOf({ kind: 'talkgroup_changed', talkgroup: talkgroupIdOf(number) });

t.test('settings told by another relay that the database does not have are taken back', async (t) => {
  const network = createMemoryNetwork();
  const reads = directory('open');
  const a = relayOn(t, network, { number: 1, reads });
  const ann = await a.radio();
  const other = await otherRelay(network, a);
  other.saysSettings(2 ** 31 - 1, 'broadcast', 5000);
  t.match(await ann.hears('TALKGROUP_CHANGED'), { floor_mode: 'broadcast', max_talk_ms: 5000 });
  t.match(await ann.hears('TALKGROUP_CHANGED'), { floor_mode: 'open', max_talk_ms: 0 });
  other.saysSettings(2 ** 31 - 1, 'broadcast', 5000);
  await settled();
  t.strictSame(ann.heard('TALKGROUP_CHANGED').length, 2, 'told again it is not believed');
  reads.setMode('single');
  await a.relay.noticed(changeOf(1));
  t.match(await ann.hears('TALKGROUP_CHANGED'), { floor_mode: 'single' }, 'a change by REST counts');
});

t.test('settings that no talkgroup can have are not adopted', async (t) => {
  const network = createMemoryNetwork();
  const a = relayOn(t, network, { number: 1, reads: directory('open') });
  const ann = await a.radio();
  const other = await otherRelay(network, a);
  for (const [revision, maxTalkMs] of [
    [Number.MAX_SAFE_INTEGER, 5000],
    [2 ** 31, 5000],
    [1, -5],
    [1, 3_600_001],
  ] as const)
    other.saysSettings(revision, 'broadcast', maxTalkMs);
  await settled();
  t.strictSame(ann.heard('TALKGROUP_CHANGED'), []);
  t.equal(a.figures()?.counts.unreadable, 4);
});

t.test('a change that the database lost is taken back, and the next one counts', async (t) => {
  const network = createMemoryNetwork();
  const reads = directory('open');
  const all = [1, 2].map((number) => relayOn(t, network, { number, reads })) as [RelayOn, RelayOn];
  await reached(...all);
  const [ann, bob] = [await all[0].radio(), await all[1].radio()];
  await sharing(2, ...all);
  reads.setMode('broadcast');
  await all[0].relay.noticed(changeOf(1));
  for (const radio of [ann, bob])
    t.match(await radio.hears('TALKGROUP_CHANGED'), { floor_mode: 'broadcast' });
  await settled();
  reads.loseChange('open');
  // As after a lost connection to the database: each relay reads everything again.
  for (const { relay } of all) relay.gap();
  for (const radio of [ann, bob]) t.match(await radio.hears('TALKGROUP_CHANGED'), { floor_mode: 'open' });
  reads.setMode('single');
  await all[1].relay.noticed(changeOf(1));
  t.match(await bob.hears('TALKGROUP_CHANGED'), { floor_mode: 'single' });
});

t.test('a relay says once whom it ignores because there are too many, and what to do', async (t) => {
  const network = createMemoryNetwork();
  const errors: string[] = [];
  const a = relayOn(t, network, { number: 1, failed: (message) => errors.push(message) });
  const ann = await a.radio();
  const bus = network.join();
  const beaconsOf = (count: number) => {
    for (let relay = 100; relay < 100 + count; relay++)
      bus.publish(
        EVERY_RELAY,
        new HeaderWriter(relay, DATABASE).write(kinds.beacon, 0, 5, 0),
        bodyOf({ encrypts: true, heard: [[1, wholeMs(performance.now()), 0]] }),
      );
  };
  beaconsOf(PEERS_MAX);
  await reaching(PEERS_MAX, a);
  t.strictSame(errors, []);
  const talk = setInterval(beaconsOf, 250, PEERS_MAX + 2);
  t.teardown(() => clearInterval(talk));
  t.match(await ann.hears('REACH'), { reach: 'partial' });
  beaconsOf(PEERS_MAX + 2);
  await settled();
  t.match(errors, [/^relay ignored.*RELAY_THREADS/, /^relay ignored/]);
  t.equal(errors.length, 2, 'once for each');
});

t.test('a relay that comes without a pause and goes again makes a line a second, with a count', async (t) => {
  const network = createMemoryNetwork();
  const lines: { message: string; leftOut: number }[] = [];
  const a = relayOn(t, network, {
    number: 1,
    logged(message, fields) {
      if (message.startsWith('relay '))
        lines.push({ message, leftOut: 'leftOut' in fields ? Number(fields.leftOut) : 0 });
    },
  });
  const [bus, writer] = [network.join(), new HeaderWriter(7, DATABASE)];
  const beganMs = performance.now();
  for (let count = 0; count < 1000; count++) {
    for (const heard of [[[1, wholeMs(performance.now()), 0]], []])
      bus.publish(EVERY_RELAY, writer.write(kinds.beacon, 0, 5, 0), bodyOf({ encrypts: true, heard }));
    if (count % 50 === 0) await settled();
  }
  const changes = () => lines.reduce((sum, { leftOut }) => sum + 1 + leftOut, 0);
  await eventually(() => {
    if (changes() < 2000) throw new Error(`${changes()} changes told`);
  });
  const seconds = Math.ceil((performance.now() - beganMs) / 1000);
  t.ok(lines.length <= seconds + 1, `${lines.length} lines in ${seconds} s`);
  t.equal(changes(), 2000);
  t.equal(lines.at(-1)?.message, 'relay not reached any more', 'the last line says what is now');
  t.strictSame(a.figures()?.peers, 0);
});

t.test('another relay gets no longer page of members than a client may ask for', async (t) => {
  const network = createMemoryNetwork();
  const a = relayOn(t, network, { number: 1 });
  for (let count = 0; count < 210; count++) await a.radio();
  const other = await otherRelay(network, a);
  for (const [limit, length] of [
    [2 ** 32 - 1, 200],
    [200, 200],
    [3, 3],
  ] as const) {
    const { members, more } = await other.page(limit);
    t.strictSame([members.length, more], [length, true]);
  }
});
