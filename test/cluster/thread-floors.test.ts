// Floors of talkgroups with members on two relay threads of one process, and of two.
import assert from 'node:assert/strict';
import t, { type Test } from 'tap';
import { eventually } from '../helpers/eventually.js';
import { unless } from '../helpers/programs.js';
import { linkedNodes } from '../helpers/service/linked-nodes.js';
import { areOnline, crewOverThreads, radioOn, twoThreads } from '../helpers/service/relay-threads.js';
import { type Json, type Radio, service } from '../helpers/service/service.js';

const isOf =
  ({ session }: Radio) =>
  (message: Json) =>
    message.session === session;

t.test(
  'a floor that two nodes with two relay threads each share, with and without NATS',
  { skip: unless('nats-server'), timeout: 240_000 },
  async (t) => {
    const { a, b, links } = await linkedNodes(t, { RELAY_THREADS: '2', RESUME_MS: '0' });
    const scout = await a.person('scout');
    const threads = [
      ...(await twoThreads(scout)).map((thread) => [a, thread] as const),
      ...(await twoThreads({ radio: () => b.radioOf(scout) })).map((thread) => [b, thread] as const),
    ];
    /** Each of them talks once, and the others hear all of it and nothing else. */
    async function talkInTurn(t: Test, number: number, radios: readonly Radio[]): Promise<void> {
      for (const talker of radios) {
        const said = Array.from({ length: 10 }, (_, at) => `${talker.session} ${at}`);
        for (const [at, word] of said.entries())
          talker.speaks(number, word, { start: at === 0, end: at === said.length - 1 });
        for (const radio of radios.filter((one) => one !== talker)) {
          await radio.hears('TALK_STARTED', isOf(talker));
          t.match(await radio.hears('TALK_ENDED', isOf(talker)), { code: 'released', frames: 10 });
          t.strictSame(
            radio.frames.splice(0).map(({ text }) => text),
            said,
          );
        }
        await talker.hears('TALK_ENDED', isOf(talker));
      }
    }

    for (const floor_mode of ['single', 'broadcast'] as const) {
      const people = await Promise.all(
        threads.map((_, at) => a.person(`${floor_mode}-${at}`, { role: 'admin' })),
      );
      // Each of the four relays may be the one that decides.
      const groups = await Promise.all(
        [1, 2, 3].map((at) => a.talkgroupWith({ name: `${floor_mode} ${at}`, floor_mode }, ...people)),
      );
      const radios = await Promise.all(
        threads.map(([node, thread], at) =>
          radioOn(thread, { radio: () => node.radioOf(people[at] ?? { token: '' }) }),
        ),
      );
      const online = (count: number) =>
        Promise.all(radios.flatMap((radio) => groups.map(({ id }) => areOnline(radio, id, count))));
      await online(4);
      for (const { number } of groups) await talkInTurn(t, number, radios);

      for (const link of links) {
        link.refuse();
        link.reset();
      }
      await online(2);
      for (const { number } of groups)
        for (const pair of [radios.slice(0, 2), radios.slice(2)]) await talkInTurn(t, number, pair);
      await Promise.all(links.map((link) => link.listen()));
      await online(4);
      for (const { number } of groups) await talkInTurn(t, number, radios);
      for (const { messages } of radios)
        t.strictSame(
          messages.filter(({ type }) => type === 'MISSED' || type === 'FLOOR_DENIED'),
          [],
        );
      for (const { socket } of radios) socket.close(1000);
    }
  },
);

t.test('a floor that two relay threads share', { timeout: 120_000 }, async (t) => {
  const s = await service(t, { RELAY_THREADS: '2', RESUME_MS: '0', TALK_SILENCE_MS: '60000' });
  const request = (radio: Radio, { id }: { id: string }, more: Json = {}) =>
    radio.asks({ type: 'FLOOR_REQUEST', talkgroup_id: id, ...more });

  for (const floor_mode of ['single', 'broadcast'] as const)
    t.test(`in \`${floor_mode}\` radios of both threads talk and hear each other`, async (t) => {
      // The one or the other thread decides the floor of a talkgroup.
      for (let time = 0; time < 4; time++) {
        const settings = { name: `${floor_mode} ${time}`, floor_mode };
        const crew = await crewOverThreads(s, settings, { areAdmins: true });
        const { ann, abe, bob, bea, group } = crew;
        for (const talker of [ann, bob, abe]) {
          const listeners = [ann, abe, bob, bea].filter((radio) => radio !== talker);
          const said = Array.from({ length: 10 }, (_, at) => `${talker.session} ${at}`);
          for (const [at, word] of said.entries())
            talker.speaks(group.number, word, { start: at === 0, end: at === said.length - 1 });
          t.match(await talker.hears('FLOOR_GRANTED'), { talkgroup_id: group.id });
          for (const radio of listeners) {
            await radio.hears('TALK_STARTED', isOf(talker));
            t.match(await radio.hears('TALK_ENDED', isOf(talker)), { code: 'released', frames: 10 });
            t.strictSame(
              radio.frames.splice(0).map(({ text }) => text),
              said,
            );
          }
          await talker.hears('TALK_ENDED', isOf(talker));
        }
      }
    });

  t.test('a floor is busy, has one queue, and is preempted across threads', async (t) => {
    const crew = await crewOverThreads(s, { name: 'queue', floor_mode: 'single' }, { areAdmins: true });
    const { ann, abe, bob, bea, group } = crew;
    ann.speaks(group.number, 'on', { start: true });
    await bob.hears('TALK_STARTED');
    t.match(await request(bob, group), {
      type: 'FLOOR_DENIED',
      code: 'busy',
      talker: { session: ann.session },
    });
    t.match(await request(bob, group, { queue: true }), { type: 'FLOOR_QUEUED', position: 1 });
    t.match(await request(abe, group, { queue: true }), { type: 'FLOOR_QUEUED', position: 2 });
    ann.speaks(group.number, 'out', { end: true });
    t.match(await bob.hears('FLOOR_GRANTED'), { burst: 1 });
    bob.speaks(group.number, 'mine', { start: true });
    await ann.hears('TALK_STARTED', isOf(bob));
    bob.socket.terminate();
    t.match(await ann.hears('TALK_ENDED', isOf(bob)), { code: 'disconnected' });
    t.match(await abe.hears('FLOOR_GRANTED'), { burst: 1 }, 'a lost talker of another thread gives way');
    abe.speaks(group.number, 'now', { start: true });
    await bea.hears('TALK_STARTED', isOf(abe));
    t.match(await request(bea, group, { priority: 5 }), { type: 'FLOOR_GRANTED', priority: 5 });
    t.match(await abe.hears('FLOOR_REVOKED'), { code: 'preempted' });
    t.match(await bea.hears('TALK_ENDED', isOf(abe)), { code: 'preempted' });
  });

  t.test('in `broadcast` a user without the right is denied on either thread', async (t) => {
    const { ann, bob, group } = await crewOverThreads(s, { name: 'denied', floor_mode: 'broadcast' });
    for (const radio of [ann, bob])
      t.match(await request(radio, group), { type: 'FLOOR_DENIED', code: 'forbidden' });
  });

  t.test('of two radios that begin at the same moment one talks, and all hear that one alone', async (t) => {
    for (let time = 0; time < 3; time++) await race(t, `race ${time}`);
  });

  async function race(t: Test, name: string) {
    const { ann, abe, bob, bea, group } = await crewOverThreads(s, { name, floor_mode: 'single' });
    const pair = [ann, bob] as const;
    // A session begins at most eight bursts in ten seconds.
    for (let round = 0; round < 8; round++) {
      for (const radio of round % 2 === 0 ? pair : pair.toReversed())
        radio.speaks(group.number, `${radio.session} ${round}`, { start: true });
      const wins = await eventually(() => {
        const granted = pair.find(({ messages }) => messages.some(({ type }) => type === 'FLOOR_GRANTED'));
        assert.ok(granted);
        return granted;
      });
      await wins.hears('FLOOR_GRANTED');
      const loses = wins === ann ? bob : ann;
      t.match(await loses.hears('FLOOR_DENIED'), { code: 'busy' });
      wins.speaks(group.number, `${wins.session} end`, { end: true });
      for (const listener of [abe, bea]) {
        await listener.hears('TALK_ENDED');
        t.strictSame(
          listener.frames.splice(0).map(({ text }) => text),
          [`${wins.session} ${round}`, `${wins.session} end`],
        );
      }
      await loses.hears('TALK_ENDED');
      t.notOk(pair.some(({ messages }) => messages.some(({ type }) => type === 'FLOOR_REVOKED')));
    }
  }
});
