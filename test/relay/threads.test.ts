// Several relay threads behind one port. Linux chooses the thread of a connection, and radios notice nothing of it.
import assert from 'node:assert/strict';
import t, { type Test } from 'tap';
import { scrape } from '../helpers/http/exposition.js';
import { areOnline, crewOverThreads, radioOn, threadOf } from '../helpers/service/relay-threads.js';
import { type Radio, type Service, service } from '../helpers/service/service.js';

const shared = (t: Test, environment: Record<string, string> = {}) =>
  service(t, { RELAY_THREADS: '2', RESUME_MS: '0', SOCKETS_PER_USER: '200', ...environment });

const crewOf = (s: Service, name: string) => crewOverThreads(s, { name });

const wordsOf = (radio: Radio) =>
  radio.arrivals.flatMap((one) =>
    'text' in one ? [one.text] : String(one.type).startsWith('TALK_') ? [one.type] : [],
  );

t.test('two relay threads serve one port as one relay', async (t) => {
  const s = await shared(t);
  t.equal(
    (await scrape(s.metrics)).series.get('talkgroup_cluster_peers'),
    1,
    'each has heard the other by then',
  );

  t.test('both get some of 200 connections', async (t) => {
    const person = await s.person('many');
    const counts = new Map<number, number>();
    for (let round = 0; round < 10; round++) {
      const radios = await Promise.all(Array.from({ length: 20 }, () => person.radio()));
      for (const radio of radios) {
        counts.set(threadOf(radio), (counts.get(threadOf(radio)) ?? 0) + 1);
        radio.socket.terminate();
      }
    }
    const shares = [...counts.values()];
    t.equal(shares.length, 2);
    // 200 coins show less than 60 of a side once in ten million times.
    t.ok(Math.min(...shares) >= 60, `${shares}`);
  });

  t.test('members of an open talkgroup hear each other, whichever thread has them', async (t) => {
    const { ann, abe, bob, bea, group } = await crewOf(s, 'talk');
    for (const [talker, listeners] of [
      [ann, [abe, bob, bea]],
      [bea, [ann, abe, bob]],
    ] as const) {
      const said = Array.from({ length: 20 }, (_, at) => `${talker.session} ${at}`);
      for (const [at, word] of said.entries())
        talker.speaks(group.number, word, { start: at === 0, end: at === said.length - 1 });
      const isIts = ({ session }: { session?: unknown }) => session === talker.session;
      for (const radio of listeners) {
        t.match(await radio.hears('TALK_STARTED', isIts), { burst: 1 });
        t.match(await radio.hears('TALK_ENDED', isIts), { code: 'released', frames: 20 });
        t.strictSame(wordsOf(radio), ['TALK_STARTED', ...said, 'TALK_ENDED'], 'in this order');
      }
      await talker.hears('TALK_ENDED', isIts);
      t.strictSame(wordsOf(talker), ['TALK_STARTED', 'TALK_ENDED'], 'the talker does not hear itself');
      for (const radio of [talker, ...listeners]) radio.arrivals.splice(0);
    }
  });

  t.test('presence counts and names the members on both threads', async (t) => {
    const { ann, abe, bob, bea, group } = await crewOf(s, 'presence');
    for (const radio of [ann, bob]) {
      const { online, members } = await radio.asks({ type: 'MEMBERS', talkgroup_id: group.id });
      t.equal(online, 4);
      t.strictSame((members as { username: string }[]).map(({ username }) => username).sort(), [
        'presence-abe',
        'presence-ann',
        'presence-bea',
        'presence-bob',
      ]);
    }
    bea.socket.close(1000);
    await areOnline(ann, group.id, 3);
    await areOnline(bob, group.id, 3);
    t.equal(abe.welcome?.reach, 'whole');
  });

  t.test('a right that is withdrawn is withdrawn on every thread', async (t) => {
    const { ann, abe, bob, bea, group, people } = await crewOf(s, 'rights');
    const [, , , beaHerself] = people;
    assert.ok(beaHerself);
    // By REST, of whose change the main thread tells every thread, before it answers.
    for (const talker of [ann, bob]) talker.speaks(group.number, 'before', { start: true });
    for (const radio of [abe, bea]) await radio.hearsText('before');
    await s.admin.delete(`/talkgroups/${group.id}`);
    for (const radio of [ann, abe, bob, bea])
      await radio.hears('TALK_ENDED', ({ code }) => code === 'deleted');
    for (const talker of [ann, bob]) talker.speaks(group.number, 'after');
    for (const radio of [ann, abe, bob, bea]) await radio.settled();
    for (const radio of [abe, bea]) t.notOk(radio.frames.some(({ text }) => text === 'after'));
    // By another process, for which the main thread listens to the database.
    const [one, other] = [threadOf(ann), threadOf(bob)];
    const radios = [await radioOn(one, beaHerself), await radioOn(other, beaHerself)];
    await s.revoke(beaHerself.name);
    for (const radio of radios) t.match(await radio.closes(), { code: 1008 });
  });

  t.test('after missed notifications every thread reads the rights again', async (t) => {
    const { ann, bob, group, people } = await crewOf(s, 'gap');
    for (const { id } of people.filter((_, index) => index % 2 === 0))
      await s.sql`delete from memberships where user_id = ${id} and talkgroup_id = ${group.id}`;
    // One connection listens for the whole node.
    const ended = await s.sql`select pg_terminate_backend(pid) from pg_stat_activity
      where application_name = 'talkgroup-radio-notices' and datname = current_database()`;
    t.equal(ended.length, 1);
    for (const radio of [ann, bob]) await radio.hears('TALKGROUP_LEFT');
  });

  t.test('the metrics add up what the threads count, and show what is of one thread', async (t) => {
    const { ann, bea, group } = await crewOf(s, 'metrics');
    const before = (await scrape(s.metrics)).series;
    for (const talker of [ann, bea]) talker.speaks(group.number, 'x', { start: true, end: true });
    for (const radio of [ann, bea]) await radio.hearsFrame();
    const { series } = await scrape(s.metrics);
    const grown = (name: string) => (series.get(name) ?? Number.NaN) - (before.get(name) ?? Number.NaN);
    t.equal(grown('talkgroup_relay_frames_received_total'), 2);
    t.equal(grown('talkgroup_bus_frames_total{direction="in"}'), 2);
    t.equal(grown('talkgroup_bus_frames_missed_total{reason="lost"}'), 0);
    t.equal(series.get('talkgroup_cluster_peers'), 1);
    for (const ofNats of ['talkgroup_bus_up', 'talkgroup_cluster_relays'])
      t.notOk(series.has(ofNats), ofNats);
    const max = series.get('talkgroup_relay_connections_max');
    t.equal(max, before.get('talkgroup_relay_connections_max'));
    const labels = (metric: string, label: string) =>
      [...series.keys()].flatMap(
        (key) => new RegExp(`^${metric}\\{${label}="([^"]+)"\\}$`).exec(key)?.[1] ?? [],
      );
    t.strictSame(labels('talkgroup_heap_bytes', 'thread'), ['main', 'relay-1', 'relay-2']);
    t.strictSame(labels('talkgroup_event_loop_delay_seconds_count', 'thread'), [
      'main',
      'relay-1',
      'relay-2',
    ]);
    t.strictSame(labels('talkgroup_database_connections', 'pool'), ['rest', 'relay-1', 'relay-2']);
  });
});
