// Talking with the console: the button of a tile, several talkgroups, the queue, the talk limit, and what ends a talk.
import t from 'tap';
import { END, START } from '../../src/protocol/frame.js';
import { startChromium } from '../helpers/browser/chromium.js';
import { desk, leaveFirstRun, pressed } from '../helpers/browser/desk.js';
import { comesTrue, eventually } from '../helpers/eventually.js';
import { type Radio, service } from '../helpers/service/service.js';

const browser = await startChromium(t);

/** Waits until the radio has heard a whole burst, and returns its frames. */
async function hearsBurst(radio: Radio) {
  return eventually(() => {
    const last = radio.frames.at(-1);
    if (last === undefined || (last.flags & END) === 0)
      throw new Error(`${radio.frames.length} frames, no end`);
    return radio.frames.splice(0);
  });
}

t.test(
  'holding a button talks to the members of its talkgroup, and releasing it ends the burst',
  async (t) => {
    const s = await service(t);
    const [ann, bob] = [await s.person('ann'), await s.person('bob')];
    await s.talkgroup('Fire 1', ann, bob);
    const listener = await bob.radio();
    const { page, button, tile } = await desk(t, browser, s, ann);
    const talk = button('Talk in', 'Fire 1');
    await talk.hover();
    await page.mouse.down();
    await listener.hears('TALK_STARTED', ({ username }) => username === 'ann');
    await tile('Fire 1').getByText('You are talking').waitFor();
    await pressed(talk, true);
    await page.getByText('Fire 1: Talk now').first().waitFor({ state: 'attached' });
    await comesTrue('half a second of speech is heard', () => listener.frames.length > 25);
    await page.mouse.up();
    const frames = await hearsBurst(listener);
    await pressed(talk, false);
    t.equal((frames[0]?.flags ?? 0) & START, START);
    t.same(
      frames.map(({ sequence }) => sequence),
      frames.map((_, index) => index),
      'a frame for each 20 ms',
    );
    t.ok(frames.slice(0, -1).every(({ payload }) => payload.length > 0));
    await listener.hears('TALK_ENDED', ({ code }) => code === 'released');
  },
);

t.test('the bar talks to all selected talkgroups at once, and to no other', async (t) => {
  const s = await service(t);
  const people = [await s.person('ann'), await s.person('bob')] as const;
  const [ann, bob] = people;
  const names = ['Fire 1', 'Fire 2', 'Police'];
  const groups = await Promise.all(names.map((name) => s.talkgroup(name, ...people)));
  const listener = await bob.radio();
  const { page, button } = await desk(t, browser, s, ann);
  const bar = page.getByRole('button', { name: 'Hold to talk to all selected' });
  await bar.hover();
  await page.mouse.down();
  await page.getByText('Select a talkgroup first.').first().waitFor({ state: 'attached' });
  await page.getByText('Denied: none selected').waitFor();
  await page.mouse.up();
  for (const name of ['Fire 1', 'Fire 2']) {
    await button('Select', name).click();
    await pressed(button('Select', name), true);
  }
  await bar.hover();
  await page.mouse.down();
  const heard = async (name: string) => {
    const id = groups[names.indexOf(name)]?.id;
    await listener.hears('TALK_STARTED', ({ talkgroup_id }) => talkgroup_id === id);
  };
  await Promise.all(['Fire 1', 'Fire 2'].map(heard));
  await pressed(bar, true);
  await page.mouse.up();
  await pressed(bar, false);
  const ended = () => listener.frames.filter(({ flags }) => (flags & END) !== 0).length;
  await comesTrue('both bursts have ended', () => ended() === 2);
  t.notOk(
    listener.messages.some(
      ({ type, talkgroup_id }) => type === 'TALK_STARTED' && talkgroup_id === groups[2]?.id,
    ),
  );
});

t.test(
  'a taken floor is named, the held button waits in the queue, and talks when its turn comes',
  async (t) => {
    const s = await service(t);
    const [ann, bob] = [await s.person('ann'), await s.person('bob')];
    const group = await s.talkgroupWith({ name: 'Fire 1', floor_mode: 'single' }, ann, bob);
    const other = await bob.radio();
    const { page, button, tile } = await desk(t, browser, s, ann);
    const speaking = setInterval(() => other.speaks(group.number, 'word'), 20);
    other.speaks(group.number, 'first', { start: true });
    t.teardown(() => clearInterval(speaking));
    await tile('Fire 1').getByText('bob is talking').waitFor();
    await button('Talk in', 'Fire 1').hover();
    await page.mouse.down();
    await page.getByText('Fire 1: Place 1 of 1 in the queue').first().waitFor({ state: 'attached' });
    clearInterval(speaking);
    other.speaks(group.number, 'last', { end: true });
    await page
      .getByText(/Fire 1: Talk now, \d+ s left/)
      .first()
      .waitFor({ state: 'attached' });
    await other.hears('TALK_STARTED', ({ username }) => username === 'ann');
    await page.mouse.up();
    await hearsBurst(other);
  },
);

/** Keeps the seconds that a page shows, which are gone before a busy test has looked. */
const COUNTING = `globalThis.seconds = [];
  new MutationObserver(() => {
    const [, shown] = /Fire 1: Talk now, (\\d+) s left/.exec(document.body?.textContent) ?? [];
    if (shown !== undefined && Number(shown) !== seconds.at(-1)) seconds.push(Number(shown));
  }).observe(document, { subtree: true, childList: true, characterData: true });`;

t.test('the talk limit counts down and ends the talk, and the next press talks again', async (t) => {
  const s = await service(t);
  const [ann, bob] = [await s.person('ann'), await s.person('bob')];
  await s.talkgroupWith({ name: 'Fire 1', floor_mode: 'single', max_talk_ms: 3_000 }, ann, bob);
  const listener = await bob.radio();
  const { page, button } = await desk(t, browser, s, ann, { init: COUNTING });
  const talk = button('Talk in', 'Fire 1');
  await talk.hover();
  await page.mouse.down();
  await page
    .getByText('Fire 1: The talk limit is reached. Release, then press again.')
    .first()
    .waitFor({ state: 'attached' });
  const seconds = await page.evaluate<number[]>('seconds');
  t.ok(seconds.length > 1, `${seconds}`);
  t.same(
    seconds,
    [3, 2, 1, 0].filter((one) => seconds.includes(one)),
  );
  await listener.hears('TALK_ENDED', ({ code }) => code === 'too_long');
  await listener.settled();
  const heard = listener.frames.length;
  await page.mouse.up();
  await page.mouse.down();
  await listener.hears('TALK_STARTED');
  await comesTrue('speech is heard again', () => listener.frames.length > heard);
  await page.mouse.up();
});

t.test('a button that may not talk says why, and the next press talks once it may', async (t) => {
  const s = await service(t);
  const [ann, bob] = [await s.person('ann'), await s.person('bob')];
  const group = await s.talkgroupWith({ name: 'Fire 1', floor_mode: 'broadcast' }, ann, bob);
  const listener = await bob.radio();
  const { page, button } = await desk(t, browser, s, ann);
  await button('Talk in', 'Fire 1').hover();
  await page.mouse.down();
  await page
    .getByText('Fire 1: Only dispatchers and administrators may talk here. Not tried again while you hold.')
    .first()
    .waitFor({ state: 'attached' });
  t.equal(listener.frames.length, 0);
  await s.admin.patch(`/talkgroups/${group.id}`, { floor_mode: 'open' });
  await page.mouse.up();
  await page.mouse.down();
  await listener.hears('TALK_STARTED', ({ username }) => username === 'ann');
  await page.mouse.up();
});

for (const { name, act, text } of [
  {
    name: 'a window that loses the focus',
    act: `dispatchEvent(new Event('blur'))`,
    text: 'Talking has ended because the window lost the focus.',
  },
  {
    name: 'a tab that is hidden',
    act: `Object.defineProperty(document, 'visibilityState', { value: 'hidden', configurable: true });
      document.dispatchEvent(new Event('visibilitychange'))`,
    text: 'Talking has ended because the tab was hidden.',
  },
  {
    name: 'a finger that the browser takes for a gesture',
    act: `document.activeElement.dispatchEvent(new PointerEvent('pointercancel', { pointerId: 1, bubbles: true }))`,
    text: null,
  },
]) {
  t.test(`${name} ends the talk`, async (t) => {
    const s = await service(t);
    const [ann, bob] = [await s.person('ann'), await s.person('bob')];
    await s.talkgroup('Fire 1', ann, bob);
    const listener = await bob.radio();
    const { page, button } = await desk(t, browser, s, ann);
    const talk = button('Talk in', 'Fire 1');
    await talk.hover();
    await page.mouse.down();
    await listener.hears('TALK_STARTED');
    await page.evaluate(act);
    await hearsBurst(listener);
    await pressed(talk, false);
    if (text !== null) await page.getByText(text).first().waitFor({ state: 'attached' });
    await listener.settled();
    t.equal(listener.frames.length, 0, 'nothing is sent while the button is still held');
    await page.mouse.up();
    await page.mouse.down();
    await listener.hears('TALK_STARTED');
    await page.mouse.up();
  });
}

t.test('a tile that is removed while its button is held does not leave a talk running', async (t) => {
  const s = await service(t);
  const [ann, bob] = [await s.person('ann'), await s.person('bob')];
  await s.talkgroup('Fire 1', ann, bob);
  const listener = await bob.radio();
  const { page, button } = await desk(t, browser, s, ann);
  await button('Talk in', 'Fire 1').hover();
  await page.mouse.down();
  await listener.hears('TALK_STARTED');
  await page.evaluate(`location.hash = 'map'`);
  await button('Talk in', 'Fire 1').waitFor({ state: 'detached' });
  await page.mouse.up();
  await hearsBurst(listener);
});

t.test(
  'a refused microphone is told in words, and a press that is held talks once it is allowed',
  async (t) => {
    const s = await service(t);
    const [ann, bob] = [await s.person('ann'), await s.person('bob')];
    await s.talkgroup('Fire 1', ann, bob);
    const listener = await bob.radio();
    const asking = await startChromium(t, { isAsking: true });
    const { page, context, button, tile } = await desk(t, asking, s, ann, { withoutMicrophone: true });
    await leaveFirstRun(page);
    await page.getByRole('button', { name: 'Allow the microphone' }).click();
    await page.getByText(/rejects the microphone/).waitFor();
    await button('Talk in', 'Fire 1').hover();
    await page.mouse.down();
    await page
      .getByText('Fire 1: No microphone. Trying again while you hold.')
      .first()
      .waitFor({ state: 'attached' });
    await tile('Fire 1').getByText('Denied: no microphone').waitFor();
    await context.grantPermissions(['microphone']);
    await page.keyboard.press('Tab');
    await page.getByRole('button', { name: 'Try again' }).focus();
    await page.keyboard.press('Enter');
    await listener.hears('TALK_STARTED', ({ username }) => username === 'ann');
    await page.mouse.up();
  },
);

t.test('a microphone that is unplugged ends the talk and says so', async (t) => {
  const s = await service(t);
  const [ann, bob] = [await s.person('ann'), await s.person('bob')];
  await s.talkgroup('Fire 1', ann, bob);
  const listener = await bob.radio();
  const { page, button } = await desk(t, browser, s, ann, {
    init: `const ask = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
      navigator.mediaDevices.getUserMedia = async (wanted) => (globalThis.heardBy = await ask(wanted));`,
  });
  await button('Talk in', 'Fire 1').hover();
  await page.mouse.down();
  await listener.hears('TALK_STARTED');
  await page.evaluate(
    `for (const track of heardBy.getTracks()) { track.stop(); track.dispatchEvent(new Event('ended')); }`,
  );
  await page
    .getByText('Talking has ended because the microphone was disconnected.')
    .first()
    .waitFor({ state: 'attached' });
  await page.getByText('The microphone was disconnected.', { exact: true }).waitFor();
  await hearsBurst(listener);
  await page.mouse.up();
});
