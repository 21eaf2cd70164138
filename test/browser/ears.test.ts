// The sound of the console in a real browser, over the real relay: what is said on one side is heard on the other.
import t, { type Test } from 'tap';
import { echo } from '../../src/client/terminal/echo.js';
import { endingOf } from '../helpers/browser/chromium.js';
import { withPassword } from '../helpers/browser/desk.js';
import { serveExample } from '../helpers/browser/example-page.js';
import {
  figuresAfter,
  levelsOf,
  type SoundPage,
  serve,
  soundPage,
  startBrowser,
  TAP,
} from '../helpers/browser/sound-page.js';
import { comesTrue, eventually, HANGS_MS } from '../helpers/eventually.js';
import { PASSWORD } from '../helpers/http/rest.js';
import { startChaosProxy } from '../helpers/network/chaos-proxy.js';
import { randomFrom } from '../helpers/random.js';
import { service } from '../helpers/service/service.js';
import { radioOf, record, talkTone } from '../helpers/sound/talking.js';
import { levelAt, RATE, sine } from '../helpers/sound/tones.js';
import { IS_PROOF } from '../helpers/within.js';

const browser = await startBrowser(t, sine(1_000, RATE * 5, { peakDb: -10 }));

/** A page of ann with the talkgroups Fire and Police, in which bob talks from Node. */
async function annAndBob(t: Test) {
  const s = await service(t);
  const [ann, bob] = [await s.person('ann'), await s.person('bob')];
  const [fire, police] = [await s.talkgroup('Fire', ann, bob), await s.talkgroup('Police', ann, bob)];
  const page = await soundPage(t, browser);
  for (const { id } of [fire, police]) await page.rig('add', id);
  await page.rig('connect', s.ws, ann.token);
  const radio = await radioOf(t, s, bob);
  return { s, bob, fire: fire.id, police: police.id, page, radio };
}

/** A page of ann with the talkgroup Fire, behind a link that a test can disturb, in which bob talks from Node. */
async function annBehindProxy(t: Test, settings: Record<string, string> = {}) {
  const s = await service(t, settings);
  const [ann, bob] = [await s.person('ann'), await s.person('bob')];
  const { id: fire } = await s.talkgroup('Fire', ann, bob);
  const proxy = await startChaosProxy({ host: '127.0.0.1', port: Number(new URL(s.ws).port) });
  t.teardown(() => proxy.stop());
  const page = await soundPage(t, browser);
  await page.rig('add', fire);
  await page.rig('connect', `ws://127.0.0.1:${proxy.port}`, ann.token);
  const tone = await talkTone(t, await radioOf(t, s, bob), fire, 440);
  await isHeard(t, page, { 440: [true, true] });
  return { s, proxy, page, tone };
}

const LOUD = -30;
const SILENT = -60;

async function isHeard(t: Test, page: SoundPage, wanted: Readonly<Record<number, [boolean, boolean]>>) {
  await eventually(async () => {
    for (const [hz, sides] of Object.entries(wanted)) {
      const levels = await page.levels(Number(hz));
      for (const [i, isLoud] of sides.entries()) {
        const level = levels[i] ?? 0;
        if (isLoud ? level < LOUD : level > SILENT) throw new Error(`${hz} Hz at ${levels} dBFS`);
      }
    }
  });
  t.pass(`heard ${JSON.stringify(wanted)}`);
}

t.test('a tone at the microphone is the same tone at another radio, and the release ends it', async (t) => {
  const { page, radio, fire } = await annAndBob(t);
  const { heard, last } = await record(t, radio);
  await page.rig('microphone');
  await page.rig('press', fire);
  await eventually(() => {
    if (heard.length < 50) throw new Error(`${heard.length} frames`);
    const level = levelAt(1_000, last(25));
    if (level < -30) throw new Error(`${level} dBFS`);
  });
  const samples = last(25);
  t.ok(levelAt(1_000, samples) - levelAt(1_500, samples) > 25, 'and no other frequency');
  t.match(await page.rig('release', fire), { kind: 'ended', code: 'released' });
  const { length } = heard;
  await page.rig('figures');
  t.equal(heard.length, length, 'nothing is sent after the release');
  t.same(page.errors, []);
});

t.test('two talkgroups are heard at once, each as loud as chosen and on its side', async (t) => {
  const { page, radio, fire, police } = await annAndBob(t);
  await talkTone(t, radio, fire, 440);
  await talkTone(t, radio, police, 880);
  await isHeard(t, page, { 440: [true, true], 880: [true, true] });
  await page.rig('setMuted', fire, true);
  await isHeard(t, page, { 440: [false, false], 880: [true, true] });
  t.equal(await page.rig('level', fire), Number.NEGATIVE_INFINITY, 'and the meter shows nothing');
  await page.rig('setMuted', fire, false);
  await page.rig('setSide', fire, 'selected');
  await page.rig('setSide', police, 'unselected');
  await isHeard(t, page, { 440: [true, false], 880: [false, true] });
  // Both again with each attempt: a page that got no processor has a gap in its sound.
  const loud = await eventually(async () => {
    const [level] = await page.levels(440);
    const shown = await page.rig<number>('level', fire);
    if (level < LOUD || Math.abs(shown - (level - 3)) > 2)
      throw new Error(`the meter shows ${shown} dBFS of a peak of ${level}`);
    return level;
  });
  await page.rig('setVolume', fire, 0.1);
  await eventually(async () => {
    const [left] = await page.levels(440);
    if (Math.abs(loud - 20 - left) > 2) throw new Error(`${left} dBFS after ${loud}`);
  });
  await page.rig('setVolume', fire, 0);
  await isHeard(t, page, { 440: [false, false], 880: [false, true] });
  t.same(page.errors, []);
});

t.test('a talker who stops is silent, and nothing was lost on the way', async (t) => {
  const { page, radio, fire } = await annAndBob(t);
  const { stop } = await talkTone(t, radio, fire, 440);
  await isHeard(t, page, { 440: [true, true] });
  t.match(await stop(), { kind: 'ended' });
  await isHeard(t, page, { 440: [false, false] });
  const figures = () => page.rig<{ voices: number }>('figures');
  await comesTrue('one voice is known', async () => (await figures()).voices === 1);
  t.match(await figures(), { missing: 0, dropped: 0 });
});

t.test('after LAG the page plays what is said now, and not what was said before', async (t) => {
  const { s, proxy, page, tone } = await annBehindProxy(t, { BACKLOG_MS: '500' });
  proxy.stall(true);
  // The buffer runs out, and the relay pauses the audio.
  await isHeard(t, page, { 440: [false, false] });
  tone.say(880);
  const lagging = async () => {
    const page = await (await fetch(s.metrics)).text();
    const [, receivers] = /^talkgroup_relay_receivers_lagging (\d+)/m.exec(page) ?? [];
    if (Number(receivers) !== 1) throw new Error(`${receivers} lag`);
  };
  await eventually(lagging);
  // One second of speech that the relay skips.
  const skippedFrom = tone.sent();
  await eventually(() => {
    if (tone.sent() < skippedFrom + 50) throw new Error(`${tone.sent()} frames`);
  });
  proxy.stall(false);
  await isHeard(t, page, { 440: [false, false], 880: [true, true] });
  const happened = await page.rig<{ kind: string; missed: number }[]>('happened');
  t.ok(
    happened.some(({ kind, missed }) => kind === 'lag' && missed >= 50),
    'the relay has said LAG',
  );
});

/** `make prove` disturbs the link for 10 s. */
const DELAYS = IS_PROOF ? 100 : 10;

t.test('jitter up to 400 ms delays the speech, and nothing of it is lost', async (t) => {
  const { proxy, page, tone } = await annBehindProxy(t);
  const random = randomFrom(1);
  for (let i = 0; i < DELAYS; i++) {
    proxy.delay(400 * random.next());
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  await isHeard(t, page, { 440: [true, true] });
  await tone.stop();
  const figures = await figuresAfter(page, tone.sent());
  t.match(figures, { missing: 0, dropped: 0, unused: 0 });
  t.ok((figures.underruns ?? 0) > 0, `${figures.underruns} underruns`);
});

t.test('a microphone that goes away ends the talk', async (t) => {
  const { page, radio, fire } = await annAndBob(t);
  await page.rig('microphone');
  await page.rig('press', fire);
  const ended = new Promise<string>((resolve) => {
    radio.on('talk_ended', ({ code }) => resolve(code));
  });
  await new Promise<void>((resolve) => {
    radio.on('audio', () => resolve());
  });
  await page.taps('loseMicrophone');
  t.equal(await ended, 'released');
  t.equal(await page.rig('isLost'), true);
});

t.test('without a microphone, or without permission, the reason is told', async (t) => {
  const { page, rig } = await soundPage(t, browser);
  const reasonOf = () =>
    page.evaluate(
      `rig.microphone().then(() => 'opened', ({ name, reason }) => name + ' ' + reason)`,
    ) as Promise<string>;
  for (const [thrown, reason] of [
    ['NotAllowedError', 'refused'],
    ['NotFoundError', 'missing'],
    ['NotReadableError', 'failed'],
  ]) {
    await page.evaluate(`navigator.mediaDevices.getUserMedia = async () => {
      throw new DOMException('no', '${thrown}');
    }`);
    t.equal(await reasonOf(), `MicrophoneError ${reason}`);
  }
  await page.evaluate(`Object.defineProperty(window, 'isSecureContext', { value: false })`);
  t.equal(await reasonOf(), 'MicrophoneError insecure');
  t.equal(await rig('isLost'), false);
});

t.test('tones are heard while every talkgroup is muted', async (t) => {
  const { page, fire } = await annAndBob(t);
  await page.rig('setMuted', fire, true);
  for (const [name, hz] of [
    ['permit', 910],
    ['denied', 310],
    ['ended', 620],
    ['alarm', 800],
  ] as const) {
    await eventually(async () => {
      // Again with each attempt, because the tone is shorter than an attempt can be.
      await page.rig('tone', name);
      const [left, right] = await page.levels(hz);
      if (left < -45 || right < -45) throw new Error(`${name}: ${left} and ${right} dBFS`);
    });
    t.pass(name);
    await isHeard(t, page, { [hz]: [false, false] });
  }
});

t.test('what is not selected plays on a second output', async (t) => {
  const { page, radio, fire, police } = await annAndBob(t);
  await page.rig('microphone');
  const outputs = await page.rig<{ id: string; label: string }[]>('outputs');
  const other = outputs.find(({ id }) => id !== '' && id !== 'default');
  if (other === undefined) throw new Error('Chromium has two outputs that play into nothing');
  await talkTone(t, radio, fire, 440);
  await talkTone(t, radio, police, 880);
  await page.rig('setSide', fire, 'selected');
  await page.rig('setSide', police, 'unselected');
  await isHeard(t, page, { 440: [true, false], 880: [false, true] });
  await page.rig('setOutput', 'unselected', other.id);
  await isHeard(t, page, { 440: [true, true], 880: [false, false] });
  await eventually(async () => {
    const [left, right] = await page.levels(880, 1);
    if (left < LOUD || right < LOUD) throw new Error(`${left} and ${right} dBFS on the second output`);
  });
  t.same(await page.sinks(), ['', other.id]);
  await page.rig('setOutput', 'unselected', '');
  await isHeard(t, page, { 440: [true, false], 880: [false, true] });
});

t.test('a context that the system suspends is resumed', async (t) => {
  const { page, radio, fire } = await annAndBob(t);
  await talkTone(t, radio, fire, 440);
  await isHeard(t, page, { 440: [true, true] });
  await page.page.evaluate(`taps.suspend()`);
  await isHeard(t, page, { 440: [true, true] });
});

t.test('two pages of one server are two consoles, and hear each other', async (t) => {
  const { s, bob, fire, page } = await annAndBob(t);
  const other = await soundPage(t, browser, serve(t));
  await other.rig('add', fire);
  await other.rig('connect', s.ws, bob.token);
  await page.rig('microphone');
  await page.rig('press', fire);
  await isHeard(t, other, { 1000: [true, true] });
  await isHeard(t, page, { 1000: [false, false] });
});

/** The page of docs/examples/browser, in which ann has logged in, and the radio of bob repeats what is said. */
async function examplePage(t: Test) {
  const origin = await serveExample(t);
  const s = await service(t, { CORS_ORIGINS: origin });
  const [ann, bob] = [await s.person('ann'), await s.person('bob')];
  await withPassword(s, ann);
  await s.talkgroup('Fire', ann, bob);
  const ending = new AbortController();
  const reports: string[] = [];
  const report = (text: string) => void reports.push(text);
  const echoing = echo({ url: s.ws, token: bob.token, signal: ending.signal, report });
  t.teardown(async () => {
    ending.abort();
    await echoing;
  });
  await comesTrue('bob is connected', () => reports.length > 0);
  const context = await browser.newContext({ permissions: ['microphone'] });
  t.teardown(() => endingOf(t, context.close()));
  const page = await context.newPage();
  page.setDefaultTimeout(HANGS_MS);
  page.on('pageerror', (error) => t.fail(error.message));
  await page.addInitScript({ content: TAP });
  await page.goto(origin);
  const fill = (name: string, value: string) => page.getByLabel(name).fill(value);
  await fill('REST address', s.rest);
  await fill('Name', 'ann');
  await fill('Password', PASSWORD);
  await page.getByRole('button', { name: 'Log in' }).click();
  const shows = (text: string) => page.getByRole('status').filter({ hasText: text }).waitFor();
  await page.getByRole('radio', { name: 'Fire' }).waitFor();
  return { page, shows, key: page.getByRole('button', { name: 'Talk' }) };
}

t.test('the page of the guide plays what its user has said, when an echo repeats it', async (t) => {
  const { page, shows, key } = await examplePage(t);
  const level = async () => (await levelsOf(page, 1_000))[0];
  await key.hover();
  await page.mouse.down();
  await shows('On air');
  // A second of speech, of which the page plays nothing itself.
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  t.ok((await level()) < SILENT);
  await page.mouse.up();
  await page.locator('#heard').filter({ hasText: 'bob talks in Fire' }).waitFor();
  await comesTrue('the page plays it', async () => (await level()) > LOUD);
  await shows('Connected'); // who talks is told in another line
  await page.locator('#heard').filter({ hasText: /^$/ }).waitFor({ state: 'attached' });
});

t.test('the page of the guide says why it does not talk, and talks again', async (t) => {
  const { page, shows, key } = await examplePage(t);
  await page.evaluate(`const { mediaDevices } = navigator;
    globalThis.open = mediaDevices.getUserMedia;
    mediaDevices.getUserMedia = async () => { throw new DOMException('no', 'NotAllowedError'); }`);
  await key.click();
  await shows('No microphone: refused');
  await page.evaluate(`navigator.mediaDevices.getUserMedia = open`);
  await page.keyboard.down('Space');
  await shows('On air');
  await page.evaluate(`taps.loseMicrophone()`);
  await shows('No microphone: lost');
  await page.keyboard.up('Space');
  await page.keyboard.down('Space');
  await shows('On air');
  await page.keyboard.up('Space');
  await shows('Connected');
});
