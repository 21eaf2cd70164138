// Signals under load, a process that stood still, and a clock that jumps.

import { setTimeout as delay } from 'node:timers/promises';
import t from 'tap';
import { comesTrue } from '../helpers/eventually.js';
import { connect, type Radio, service, serviceProcess } from '../helpers/service/service.js';
import { within } from '../helpers/within.js';

t.setTimeout(300_000);
t.jobs = 3; // two of them mostly wait

/** How long the process is stopped (seconds). */
const STOPPED_S = Number(process.env.STOPPED_S ?? 2);
const RESTART = { code: 1012, reason: 'restart' };
/** For the whole end: `docker stop` kills then. */
const EXIT_MS_MAX = 10_000;

t.test(
  'SIGTERM under load: every request is answered, every socket is told why',
  { buffered: true },
  async (t) => {
    const s = await serviceProcess(t, { DRAIN_MS: '1000' });
    const { radios, number, people } = await s.crew(t, 6, { name: 'load' });
    const [ann] = people;
    for (const radio of radios) talkOn(t, radio, number);
    await radios[0].hearsFrames(20);

    // Until the last socket is closed REST listens, so whatever was sent by then has its answer.
    let closedAll = false;
    const failures: string[] = [];
    const counts = { answered: 0, whileClosing: 0, tooLate: 0 };
    let signalled = false;
    const callers = [
      () => s.call('GET', '/talkgroups', ann.token),
      () => s.call('POST', '/talkgroups', s.admin.token, { name: 'meanwhile' }),
      () => s.call('POST', '/auth/login', null, { username: 'nobody', password: 'x' }), // 50 ms of a hash
    ].map(async (call, index) => {
      for (let open = true; open; ) {
        const wasClosed = closedAll;
        await call().then(
          ({ status }) => {
            if (status >= 500) failures.push(`caller ${index}: ${status}`);
            counts[signalled ? 'whileClosing' : 'answered']++;
          },
          (error: Error) => {
            open = false;
            if (wasClosed) counts.tooLate++;
            else failures.push(`caller ${index}: ${error.cause ?? error}`);
          },
        );
      }
    });
    while (counts.answered < 20) await delay(10);

    const signalledAt = performance.now();
    s.signal('SIGTERM');
    signalled = true;
    for (const radio of radios) t.same(await radio.closes(), RESTART);
    closedAll = true;
    t.equal(await s.exit(), 0);
    const tookMs = performance.now() - signalledAt;
    within(t, tookMs, EXIT_MS_MAX, 'ended');
    await Promise.all(callers);
    t.strictSame(failures, []);
    t.ok(counts.whileClosing > 0, JSON.stringify(counts));
  },
);

t.test(`stopped for ${STOPPED_S} s it closes none for its own silence`, { buffered: true }, async (t) => {
  const s = await serviceProcess(t, { IDLE_TIMEOUT_S: '8' });
  const { radios, number } = await s.crew(t, 30, { name: 'stopped' });
  const [talker, listener] = radios;
  talker.speaks(number, 'before', { start: true, end: true });
  await listener.hearsText('before');
  s.signal('SIGSTOP');
  await delay(STOPPED_S * 1000);
  s.signal('SIGCONT');
  for (const radio of radios) await radio.settled();
  talker.speaks(number, 'after', { start: true, end: true });
  for (const radio of radios.slice(1)) await radio.hearsText('after');
  t.strictSame(
    radios.filter(({ socket }) => socket.readyState !== socket.OPEN),
    [],
  );
});

for (const [name, years] of [
  ['ahead', 10],
  ['back', -10],
] as const) {
  t.test(`a clock that jumps ten years ${name} ends no talk, no session and no token`, async (t) => {
    const s = await service(t, { TALK_SILENCE_MS: '1000', RELAY_THREADS: '0' });
    const { radios, people, number, id } = await s.crew(t, 2, { name: 'clock' });
    const [a, b] = radios;
    const [ann, bob] = people;
    const account = { username: `clock ${name}`, password: 'over and out' };
    // On a busy machine the password may wait too long for its hash.
    await comesTrue('registered', async () => {
      const { status } = await s.call('POST', '/auth/register', null, account);
      return status === 200 || status === 409;
    });
    a.speaks(number, 'before', { start: true });
    await b.hearsText('before');

    jump(t, years * 365 * 86_400_000);
    a.speaks(number, 'after');
    await b.hearsText('after');
    t.equal((await ann.call('GET', '/talkgroups')).status, 200, 'a token of before');
    t.ok((await bob.radio()).welcome);
    const login = await s.call('POST', '/auth/login', null, account);
    t.equal(login.status, 200);
    const token = String(login.body.jwt);
    t.equal((await s.call('GET', '/talkgroups', token)).status, 200, 'a token of now');
    t.ok((await connect(t, `${s.ws}/ws?token=${token}`)).welcome);
    t.equal((await ann.call('POST', `/talkgroups/${id}/join`)).status, 200, 'within its deadline');
    // Silence is still a second of the other clock.
    t.match(await b.hears('TALK_ENDED'), { burst: 1, code: 'silence', frames: 2 });
    t.strictSame(
      [a, b].map(({ socket }) => socket.readyState),
      [1, 1],
    );
  });
}

/** All code on this thread reads another date from now until the end of `t`. What counts time from a start does not. */
function jump(t: { teardown(act: () => void): void }, byMs: number): void {
  const RealDate = globalThis.Date;
  globalThis.Date = class extends RealDate {
    constructor(...args: unknown[]) {
      if (args.length === 0) super(RealDate.now() + byMs);
      else super(...(args as [number]));
    }
    static override now = () => RealDate.now() + byMs;
  } as DateConstructor;
  t.teardown(() => {
    globalThis.Date = RealDate;
  });
}

function talkOn(t: { teardown(act: () => void): void }, radio: Radio, number: number): void {
  const speech = setInterval(() => {
    if (radio.socket.readyState === radio.socket.OPEN) radio.speaks(number, 'x');
  }, 20);
  t.teardown(() => clearInterval(speech));
}
