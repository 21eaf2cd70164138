// The client library with a relay that cannot decide the floor in time: it asks again while the button is pressed.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { readOpus, writeOpus } from '../../src/client/audio/ogg.js';
import { createRadio, type Talk, type TalkState } from '../../src/client/node.js';
import { talkFile } from '../../src/client/terminal/terminal.js';
import { eventually } from '../helpers/eventually.js';
import { createLateAuthority, type LateAuthority } from '../helpers/relay/late-authority.js';
import { service } from '../helpers/service/service.js';

const RETRY_MS = 60;
const packetOf = (n: number) => Uint8Array.of(0x08, n);

/** A service whose floors the test decides, with two radios in the talkgroup `fire`. */
async function setUp(t: Test) {
  let authority: LateAuthority | undefined;
  const s = await service(t, {}, undefined, {
    authorityOf(options) {
      authority = createLateAuthority(options);
      return authority;
    },
  });
  const [ann, bob] = [await s.person('ann'), await s.person('bob')];
  const group = await s.talkgroupWith({ name: 'fire', floor_mode: 'single' }, ann, bob);
  const radioOf = async ({ token }: { token: string }) => {
    const radio = createRadio({ url: s.ws, token });
    t.teardown(() => radio.close());
    await new Promise((resolve) => radio.on('open', resolve));
    return radio;
  };
  const listener = await s.radioOf(bob);
  return {
    ...{ s, ann, group, listener, radio: await radioOf(ann) },
    /** Resolves when a session asks for the floor, and has no answer yet. */
    asked: () =>
      eventually(() => {
        if (authority?.open() !== 1) throw new Error(`${authority?.open()} ask`);
      }),
    answer: () => authority?.answer(),
    giveUp: () => authority?.giveUp(RETRY_MS),
    open: () => authority?.open(),
  };
}

/** The states of the talk, from its first one. */
function statesOf(talk: Talk): TalkState[] {
  const states = [talk.state];
  talk.on('state', (state) => states.push(state));
  return states;
}

/** Speaks without a pause until the talk is over or `stop` is called. The number of the packet is its speech. */
function speaking(talk: Talk): { stop(): void } {
  let n = 0;
  const timer = setInterval(() => talk.send(packetOf(n++ % 256)), 20);
  const stop = () => clearInterval(timer);
  void talk.ended.then(stop);
  return { stop };
}

t.test('a talk that is denied for now is heard when the relay can decide again', async (t) => {
  for (const floor of ['first_frame', 'request', 'queue'] as const) {
    const { group, listener, radio, asked, answer, giveUp } = await setUp(t);
    const talk = radio.talk({ talkgroupId: group.id, floor });
    const states = statesOf(talk);
    const speech = speaking(talk);
    for (let time = 0; time < 2; time++) {
      await asked();
      giveUp();
    }
    await asked();
    answer();
    const { session } = await listener.hears('TALK_STARTED');
    t.equal(session, radio.session);
    const numbers = (await listener.hearsFrames(5)).map(({ payload }) => payload[1] ?? 0);
    const [first = 0] = numbers;
    t.same(
      numbers,
      [0, 1, 2, 3, 4].map((more) => first + more),
      'nothing is left out from there on',
    );
    speech.stop();
    talk.end();
    t.match(await listener.hears('TALK_ENDED'), { session, code: 'released' });
    t.match(await talk.ended, { kind: 'ended', code: 'released' });
    const waits = states.flatMap((state) => ('retry_ms' in state ? [state.retry_ms ?? 0] : []));
    t.equal(waits.length, 2);
    // What is left of the wait when the state is told. unit/client-retry knows the moment.
    t.ok(
      waits.every((ms) => ms > 0 && ms <= RETRY_MS * 1.5),
      `${waits}`,
    );
    t.match(states.map(({ kind }) => kind).slice(-3), ['granted', 'talking', 'ended']);
  }
});

t.test('a talk that waits to ask again is denied by the next answer, and when it is let go', async (t) => {
  const { group, radio, listener, asked, answer, giveUp, open } = await setUp(t);
  const waiting = radio.talk({ talkgroupId: group.id, floor: 'queue' });
  await asked();
  giveUp();
  await eventually(() => {
    if (!('retry_ms' in waiting.state)) throw new Error('not told yet');
  });
  waiting.end();
  t.match(await waiting.ended, { kind: 'denied', code: 'retry_later', retry_ms: RETRY_MS });

  listener.speaks(group.number, 'bob talks', { start: true });
  await asked();
  answer();
  await listener.hears('TALK_STARTED');
  const denied = radio.talk({ talkgroupId: group.id });
  const states = statesOf(denied);
  speaking(denied);
  await asked();
  giveUp();
  await asked();
  answer();
  t.match(await denied.ended, { kind: 'denied', code: 'busy', talker: { username: 'bob' } });
  t.ok(states.some((state) => state.kind === 'requested' && state.retry_ms !== undefined));
  t.equal(open(), 0);
});

t.test('a radio in a terminal says once that the server cannot decide, and how it ends', async (t) => {
  const { s, ann, group, radio, asked, answer, giveUp } = await setUp(t);
  radio.close();
  const folder = await mkdtemp(join(tmpdir(), 'retry-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const file = join(folder, 'spoken.ogg');
  const spoken = (await readOpus('bench/speech.ogg')).packets.slice(100, 115);
  await writeFile(file, await writeOpus({ packets: spoken, channels: 1, preSkip: 312 }));
  const talks = () => {
    const lines: string[] = [];
    const report = (line: string) => lines.push(line);
    const told = { url: s.ws, token: ann.token, talkgroup: group.name, file, queue: true, report };
    return { lines, done: talkFile(told) };
  };
  const asking = 'the server cannot decide who has the floor in fire, asking again';

  const heard = talks();
  for (let time = 0; time < 2; time++) {
    await asked();
    giveUp();
  }
  await asked();
  answer();
  t.match(await heard.done, { code: 'released', frames: spoken.length });
  t.same(heard.lines, [asking, 'talking in fire for 0.3 s', 'released: 15 of 15 packets relayed']);

  const denied = talks();
  for (let time = 0; time < 10; time++) {
    await asked();
    giveUp();
  }
  t.match(await denied.done, { kind: 'denied', code: 'retry_later' });
  t.same(denied.lines, [asking, 'floor denied: the server could not decide in time. Try again']);
});
