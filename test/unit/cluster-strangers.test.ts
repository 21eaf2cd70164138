// What a relay does not take from a bus that others use, too: another database, and another talkgroup with the same number.
import t from 'tap';
import { bodyOf } from '../../src/relay/cluster/bodies.js';
import { EVERY_RELAY, talkgroupSubject } from '../../src/relay/cluster/bus.js';
import { HeaderWriter, kinds, wholeMs } from '../../src/relay/cluster/header.js';
import { eventually } from '../helpers/eventually.js';
import { createMemoryNetwork } from '../helpers/relay/memory-bus.js';
import {
  DATABASE,
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

t.test('a burst of another talkgroup with the same number is not played', async (t) => {
  const network = createMemoryNetwork();
  const a = relayOn(t, network, { number: 1 });
  const ann = await a.radio();
  const [peer, writer] = [network.join(), new HeaderWriter(7, DATABASE)];
  const beacon = bodyOf({ heard: [[1, wholeMs(performance.now()), 0]] });
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
