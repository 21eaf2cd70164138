// Throws in each callback of the relay: the error ends one session and nothing else.
import t from 'tap';
import { type Person, type Radio, serviceProcess } from '../helpers/service/service.js';
import { receptionMethods, sessionMethods } from '../helpers/service/throwing-sessions.js';

t.setTimeout(300_000);

const PRELOAD = new URL('../helpers/service/throwing-sessions.js', import.meta.url).href;
const REPEATING = new URL('../helpers/service/repeating-error.js', import.meta.url).href;
const INTERNAL = { code: 1011, reason: 'internal error' };

/** What makes the engine, or the relay's timer, call it for that radio. Pings behind frames and their answers come by themselves. */
const provoke: Partial<Record<string, (victim: Victim) => unknown>> = {
  receiveAudio: ({ radio, number }) => radio.speaks(number, 'x', { start: true }),
  receiveText: ({ radio }) => radio.says({ type: 'PING', t: 0 }),
  end: ({ radio }) => radio.says({ type: 'PING', t: 0 }),
  pinged: ({ radio }) => radio.socket.ping(),
  overrun: ({ radio }) => radio.socket.ping(),
  drained: ({ radio }) => radio.socket.ping(),
  hear: ({ person, id }) => person.post(`/talkgroups/${id}/join`),
  unhear: ({ person, id }) => person.delete(`/talkgroups/${id}/leave`),
};

interface Victim {
  readonly person: Person;
  readonly radio: Radio;
  /** Of the talkgroup it is in, or joins. */
  readonly number: number;
  readonly id: string;
}

t.test('a throw in a callback ends its session, and all others go on', async (t) => {
  const s = await serviceProcess(t, { NODE_OPTIONS: `--import=${PRELOAD}`, LOG_LEVEL: 'info' });
  const methods = [...sessionMethods, ...receptionMethods];
  // Before any other: its timers are due first, and throw each time as long as it talks.
  const stuck = await s.person('bug in timers');
  const own = await s.talkgroup('stuck', stuck);
  const stuckRadio = await stuck.radio();
  stuckRadio.speaks(own.number, 'stuck', { start: true });
  await stuckRadio.hears('TALK_STARTED');
  const { radios, number, id } = await s.crew(t, 2, { name: 'sound' });
  const [talker, listener] = radios;
  talker.speaks(number, 'before', { start: true });
  await listener.hearsText('before');
  const speech = setInterval(() => talker.speaks(number, 'on'), 50); // the relay pings who hears something
  t.teardown(() => clearInterval(speech));

  for (const method of methods) {
    const person = await s.person(`bug in ${method}`);
    if (method !== 'hear') await person.post(`/talkgroups/${id}/join`);
    const radio = await person.radio();
    if (method === 'closed') radio.socket.close(1000);
    else {
      await provoke[method]?.({ person, radio, number, id }); // a change is answered although it threw
      t.same(await radio.closes(), INTERNAL, method);
    }
    talker.speaks(number, `after ${method}`);
    await listener.hearsText(`after ${method}`);
  }

  // Here the end is not what a throw leads to but what throws, in a read that newcomers wait for.
  const refused = await s.person('bug in end, disabled', { serial: 'lost' });
  const refusedRadio = await refused.radio();
  await s.admin.patch(`/devices/${refused.device}/status`, { active: false });
  t.same(await refusedRadio.closes(), { code: 1008, reason: 'device disabled' }, 'told why all the same');
  const newcomer = await (await s.person('newcomer')).radio();
  t.ok(newcomer.welcome);
  // Asked once for all of them, by name: it is answered once in two seconds.
  const { online, members } = await listener.asks({ type: 'MEMBERS', talkgroup_id: id });
  t.equal(online, 2, 'nobody else is left in the engine');
  t.match(members, { length: 2, 0: { username: 'sound-0' }, 1: { username: 'sound-1' } }, 'nor in the books');

  // It throws when another one lets go of the floor it waits for.
  const [before, waiting, behind] = [
    await s.person('has the floor'),
    await s.person('bug in nextBurst'),
    await s.person('is next'),
  ];
  const floor = await s.talkgroupWith(
    { name: 'one at a time', floor_mode: 'single' },
    before,
    waiting,
    behind,
  );
  const ask = { type: 'FLOOR_REQUEST', talkgroup_id: floor.id, queue: true };
  const holder = await before.radio();
  t.match(await holder.asks(ask), { type: 'FLOOR_GRANTED' });
  const [first, second] = [await waiting.radio(), await behind.radio()];
  for (const radio of [first, second]) t.match(await radio.asks(ask), { type: 'FLOOR_QUEUED' });
  t.match(await holder.asks({ type: 'FLOOR_RELEASE', talkgroup_id: floor.id }), { type: 'OK' });
  t.same(await first.closes(), INTERNAL, 'the one who was to have it');
  t.match(await second.hears('FLOOR_GRANTED'), {}, 'and the next one has it');

  clearInterval(speech);
  t.match(
    await listener.hears('TALK_ENDED'),
    { burst: 1, code: 'silence' },
    'one burst all along, and its timer is no other talkgroup’s',
  );
  stuckRadio.socket.close(1000);
  await stuckRadio.closes();
  s.signal('SIGTERM');
  t.equal(await s.exit(), 0);
  t.match(s.output(), 'Error: a bug in timers\\n');
  for (const method of methods) t.match(s.output(), `Error: a bug in ${method}\\n`, 'logged with its stack');
  const [, failed] = /"failed":(\d+)/.exec(s.output()) ?? [];
  t.equal(Number(failed), methods.length + 2, 'each is counted');
});

for (const first of ['error', 'signal'] as const) {
  t.test(
    `an error that repeats while the service closes after ${first} does not cut the close short`,
    async (t) => {
      const s = await serviceProcess(t, {
        NODE_OPTIONS: `--import=${REPEATING}`,
        DRAIN_MS: '1000',
        LOG_LEVEL: 'error',
      });
      const { radios, number } = await s.crew(t, 3, { name: 'crew' });
      // The drain waits for it, so that the error comes meanwhile.
      radios[0].speaks(number, 'talks on', { start: true });
      await radios[1].hearsFrame();
      if (first === 'signal') s.signal('SIGTERM');
      s.signal('SIGWINCH');
      for (const radio of radios) t.same(await radio.closes(), { code: 1012, reason: 'restart' });
      t.equal(await s.exit(), 1);
      t.match(s.output(), 'ended: an error that repeats');
      t.match(s.output(), 'another error during shutdown');
    },
  );
}
