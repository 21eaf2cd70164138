// Replay of calls from the memory of the console, over the real relay: by button and by key, at the desk and on a phone.
import type { Page } from 'playwright-core';
import t, { type Test } from 'tap';
import { violationsOn } from '../helpers/browser/axe.js';
import { busyNames } from '../helpers/browser/busy-desk.js';
import { busyRadioOf } from '../helpers/browser/busy-radio.js';
import { type Desk, desk, openSettings, pressed } from '../helpers/browser/desk.js';
import { fakeRadioOf, putFakeRadio } from '../helpers/browser/fake-radio.js';
import { dialogOf, encryptedService, hears, hold, setUpKeys } from '../helpers/browser/keys.js';
import { isNarrow, judge, looks, titleOf } from '../helpers/browser/looks.js';
import { phone } from '../helpers/browser/phone.js';
import { WATCH, type Watched } from '../helpers/browser/places.js';
import { levelsOf, startBrowser, TAP } from '../helpers/browser/sound-page.js';
import { comesTrue, eventually } from '../helpers/eventually.js';
import { startChaosProxy } from '../helpers/network/chaos-proxy.js';
import { service } from '../helpers/service/service.js';
import { radioOf, talkTone } from '../helpers/sound/talking.js';
import { RATE, sine } from '../helpers/sound/tones.js';

const browser = await startBrowser(t, sine(1_000, RATE * 5, { peakDb: -10 }));

const LOUD = -30;
const SILENT = -60;
/** A call of this length leaves time for what a test does during its replay. */
const LONG_FRAMES = 600;
const SHORT_FRAMES = 25;

const level = async (page: Page, hz: number) => (await levelsOf(page, hz))[0];
const isHeard = (page: Page, hz: number) =>
  comesTrue(`${hz} Hz is heard`, async () => (await level(page, hz)) > LOUD);
const isSilent = (page: Page, hz: number) =>
  comesTrue(`${hz} Hz is silent`, async () => (await level(page, hz)) < SILENT);

/** A level that stays. */
const steady = (page: Page, hz: number) =>
  eventually(async () => {
    const [before, after] = [await level(page, hz), await level(page, hz)];
    if (after < LOUD - 10 || Math.abs(after - before) > 0.5) throw new Error(`${before}, then ${after} dBFS`);
    return after;
  });

const dock = (page: Page) => page.locator('[data-region="dock"]');
const lastTen = (page: Page) => page.getByRole('region', { name: 'Last ten' });
const replayOf = ({ tile }: Pick<Desk, 'tile'>, name: string) =>
  tile(name).getByRole('button', { name: `Replay last call in ${name}`, exact: true });
const replaying = (page: Page, username: string) =>
  page.getByText(new RegExp(`^Replaying .${username}., (\\d+ seconds?|1 minute) ago$`));
const isOver = async (page: Page) => {
  await page.getByText(/^Replaying/).waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Stop replay' }).first().waitFor({ state: 'detached' });
};

type Talkgroup = { id: string; name: string };

/** A console of ann with Fire and Police, and the radios of bob and cid. */
async function two(t: Test, options: Parameters<typeof desk>[4] = {}) {
  const s = await service(t);
  const people = [await s.person('ann'), await s.person('bob'), await s.person('cid')] as const;
  const fire = { ...(await s.talkgroup('Fire', ...people)), name: 'Fire' };
  const police = { ...(await s.talkgroup('Police', ...people)), name: 'Police' };
  const [ann, bob, cid] = people;
  const opened = await desk(t, browser, s, ann, { init: TAP, ...options });
  const radios = { bob: await radioOf(t, s, bob), cid: await radioOf(t, s, cid) };
  /** Resolves when the console lists the call. */
  const call = async (who: keyof typeof radios, { id, name }: Talkgroup, hz: number, frames: number) => {
    const tone = await talkTone(t, radios[who], id, hz);
    await isHeard(opened.page, hz);
    await comesTrue('the call is long enough', () => tone.sent() >= frames);
    await tone.stop();
    await isSilent(opened.page, hz);
    await replayOf(opened, name).and(opened.page.locator('[aria-disabled="false"]')).waitFor();
  };
  return { ...opened, s, ann, fire, police, radios, call };
}

t.test('a button replays the last call, live speech has half its volume, and nothing moves', async (t) => {
  const { page, tile, fire, police, radios, call } = await two(t);
  await call('bob', fire, 440, LONG_FRAMES);
  const live = await talkTone(t, radios.cid, police.id, 880);
  await isHeard(page, 880);
  const loud = await steady(page, 880);
  await page.evaluate(WATCH);
  await replayOf({ tile }, 'Fire').click();
  await replaying(page, 'bob').waitFor();
  await isHeard(page, 440);
  // It fades, and on a busy machine a level on the way seems to stay.
  await comesTrue(
    'live speech has half its volume',
    async () => Math.abs(loud - 6 - (await level(page, 880))) < 1.5,
  );
  t.strictSame(await violationsOn(page), []);
  const stop = tile('Fire').getByRole('button', { name: 'Stop replay' });
  t.ok(await stop.and(page.locator(':focus')).isVisible(), 'it keeps the focus');
  t.equal(
    await tile('Police').getByRole('button', { name: 'Stop replay' }).count(),
    0,
    'no other tile has it',
  );
  await stop.click();
  await isOver(page);
  await isSilent(page, 440);
  await comesTrue('live speech is loud again', async () => Math.abs((await level(page, 880)) - loud) < 1);
  await lastTen(page)
    .getByRole('button', { name: /^Replay bob in Fire, / })
    .click();
  await lastTen(page).getByRole('button', { name: 'Stop replay' }).waitFor();
  await isHeard(page, 440);
  await page.keyboard.press('Escape');
  await isOver(page);
  await isSilent(page, 440);
  const { frames, places, moved, shifts } = await page.evaluate<Watched>('watched');
  t.ok(frames > 20 && places > 20, `${frames} frames of ${places} places`);
  t.strictSame([moved, shifts], [[], []]);
  await live.stop();
});

t.test('a replay is over by itself, and the next one is of the newer call', async (t) => {
  const opened = await two(t);
  const { page, fire, call } = opened;
  await call('bob', fire, 440, SHORT_FRAMES);
  await replayOf(opened, 'Fire').click();
  await replaying(page, 'bob').waitFor();
  await isOver(page);
  await call('cid', fire, 660, SHORT_FRAMES);
  await replayOf(opened, 'Fire').click();
  await replaying(page, 'cid').waitFor();
  await isHeard(page, 660);
});

t.test(
  'by keyboard alone: the key replays the last call, with Shift each one before, Escape stops',
  async (t) => {
    const opened = await two(t);
    const { page, fire, police, call, button } = opened;
    await call('bob', fire, 440, LONG_FRAMES);
    await call('cid', police, 660, LONG_FRAMES);
    await page.evaluate('document.activeElement.blur()');
    await page.keyboard.press('r');
    await replaying(page, 'cid').waitFor();
    await isHeard(page, 660);
    await page.keyboard.press('Shift+R');
    await replaying(page, 'bob').waitFor();
    await isHeard(page, 440);
    await isSilent(page, 660);
    await page.keyboard.press('Shift+R');
    await dock(page).getByText('No earlier call to replay.').waitFor();
    await replaying(page, 'bob').waitFor();
    await page.keyboard.press('Escape');
    await isOver(page);
    await isSilent(page, 440);
    await button('Talk in', 'Fire').focus();
    await page.keyboard.press('r');
    await replaying(page, 'bob').waitFor();
    const stop = dock(page).getByRole('button', { name: 'Stop replay' });
    await stop.focus();
    await page.keyboard.press('Enter');
    await isOver(page);
    t.equal(
      await page.evaluate("document.activeElement.closest('[data-region]')?.dataset.region"),
      'dock',
      'the focus stays in the region',
    );
    await button('Mute', 'Police').click();
    await page.evaluate('document.activeElement.blur()');
    await page.keyboard.press('r');
    await replaying(page, 'bob').waitFor();
    t.pass('a muted talkgroup does not count');
    await page.keyboard.press('Escape');
    await isOver(page);
    await page.keyboard.press('/');
    await page.keyboard.type('r');
    const field = page.getByRole('combobox', { name: 'Find a talkgroup or user' });
    t.equal(await field.inputValue(), 'r', 'in a text field it writes');
    t.equal(await page.getByText(/^Replaying/).count(), 0);
  },
);

t.test(
  'the replay key can be changed and switched off, and does nothing while it is the talk key',
  async (t) => {
    const opened = await two(t);
    const { page, fire, call } = opened;
    await call('bob', fire, 440, LONG_FRAMES);
    await openSettings(page);
    await page.getByRole('button', { name: 'Change the replay key' }).click();
    await page.keyboard.press('a');
    await page.getByText('This key operates the page. Choose another one.').waitFor();
    await page.keyboard.press('F9');
    await page.getByRole('heading', { name: 'Replay key: F9' }).waitFor();
    t.strictSame(await violationsOn(page), []);
    await page.evaluate('document.activeElement.blur()');
    await page.keyboard.press('r');
    await page.keyboard.press('F9');
    await replaying(page, 'bob').waitFor();
    await page.keyboard.press('Escape');
    await isOver(page);
    const none = page.getByRole('button', { name: 'No replay key' });
    await none.click();
    await page.getByRole('heading', { name: 'Replay key: none' }).waitFor();
    await pressed(none, true);
    await page.evaluate('document.activeElement.blur()');
    await page.keyboard.press('F9');
    await none.click();
    await page.getByRole('heading', { name: 'Replay key: R' }).waitFor();
    await page.getByRole('button', { name: 'Change the talk key' }).click();
    await page.keyboard.press('r');
    await page.getByRole('heading', { name: 'Talk key: R' }).waitFor();
    await page.evaluate('document.activeElement.blur()');
    await page.keyboard.press('r');
    await page.getByRole('tab', { name: 'Talkgroups' }).click();
    t.equal(await page.getByText(/^Replaying/).count(), 0);
  },
);

t.test('a press to talk and a new emergency stop a replay', async (t) => {
  const opened = await two(t);
  const { page, fire, police, radios, call, button } = opened;
  await call('bob', fire, 440, LONG_FRAMES);
  await replayOf(opened, 'Fire').click();
  await isHeard(page, 440);
  const talk = button('Talk in', 'Police');
  await hold(page, talk);
  await isOver(page);
  await isSilent(page, 440);
  await page.keyboard.press('r');
  await dock(page)
    .getByText(/^ON AIR/)
    .waitFor();
  t.equal(await page.getByText(/^Replaying/).count(), 0, 'and during a talk there is none');
  await page.mouse.up();
  await pressed(talk, false);
  await replayOf(opened, 'Fire').click();
  await isHeard(page, 440);
  await radios.cid.emergency.raise({ talkgroupId: police.id });
  await page.getByRole('region', { name: 'Alarms' }).getByText('NEW', { exact: true }).waitFor();
  await isOver(page);
  await isSilent(page, 440);
  await replayOf(opened, 'Fire').click();
  await isHeard(page, 440);
  t.pass('an emergency that is open does not keep it from being played');
});

t.test('a replay needs no network', async (t) => {
  const relay = { host: '127.0.0.1', port: 0 };
  const proxy = await startChaosProxy(relay);
  t.teardown(() => proxy.stop());
  const s = await service(t, { PUBLIC_WS_URL: `ws://127.0.0.1:${proxy.port}` });
  relay.port = Number(new URL(s.ws).port);
  const [ann, bob] = [await s.person('ann'), await s.person('bob')];
  const fire = await s.talkgroup('Fire', ann, bob);
  const expected = [/WebSocket|ERR_INTERNET_DISCONNECTED|ERR_CONNECTION_REFUSED/];
  const opened = await desk(t, browser, s, ann, { init: TAP, expected });
  const { page } = opened;
  const tone = await talkTone(t, await radioOf(t, s, bob), fire.id, 440);
  await isHeard(page, 440);
  await comesTrue('the call is long enough', () => tone.sent() >= 2 * SHORT_FRAMES);
  await tone.stop();
  await replayOf(opened, 'Fire').and(page.locator('[aria-disabled="false"]')).waitFor();
  await isSilent(page, 440);
  await proxy.stop();
  await opened.context.setOffline(true);
  await page.getByText('You have heard no talkgroup since').waitFor();
  await replayOf(opened, 'Fire').click();
  await replaying(page, 'bob').waitFor();
  await isHeard(page, 440);
});

t.test(
  'the console forgets the calls of a talkgroup that the user leaves, and all of them at a log out',
  async (t) => {
    const opened = await two(t);
    const { page, s, ann, fire, police, call } = opened;
    await call('bob', fire, 440, SHORT_FRAMES);
    await call('cid', police, 660, SHORT_FRAMES);
    await s.admin.delete(`/talkgroups/${fire.id}/members/${ann.id}`);
    const row = lastTen(page).getByRole('button', { name: /^Replay bob in Fire, / });
    await row.and(page.locator('[aria-disabled="true"]')).waitFor();
    t.equal(await row.getAttribute('title'), 'This call is forgotten. Calls are kept for 5 minutes.');
    await row.click({ force: true });
    t.equal(
      await lastTen(page)
        .getByRole('button', { name: /^Replay cid in Police, / })
        .getAttribute('aria-disabled'),
      'false',
    );
    await page.getByRole('button', { name: /, Account$/ }).press('Enter');
    await page.getByRole('menuitem', { name: 'Log out', exact: true }).press('Enter');
    await page.getByRole('textbox', { name: 'Username' }).waitFor();
    t.equal(await page.getByRole('button', { name: /^Replay/ }).count(), 0);
  },
);

t.test(
  'encrypted speech is replayed as it was opened, until the permission to have keys is withdrawn',
  async (t) => {
    const { s, ann, bob, root, fire } = await encryptedService(t);
    const one = await desk(t, browser, s, ann, { init: TAP });
    await setUpKeys(one);
    await dialogOf(one).waitFor({ state: 'detached' });
    const other = await desk(t, browser, s, bob, { init: TAP });
    await setUpKeys(other);
    await dialogOf(other).waitFor({ state: 'detached' });
    await hold(one.page, one.button('Talk in', 'Fire'));
    await hears(other.page, 1_000);
    await one.page.mouse.up();
    await isSilent(other.page, 1_000);
    await replayOf(other, 'Fire').click();
    await hears(other.page, 1_000);
    await isOver(other.page);
    await root.call('PUT', `/talkgroups/${fire.id}/members/${bob.id}/keys`, { allowed: false });
    await replayOf(other, 'Fire').and(other.page.locator('[aria-disabled="true"]')).waitFor();
    t.match(await replayOf(other, 'Fire').getAttribute('title'), 'No call to replay');
  },
);

t.test('on a phone the button beside the key replays, and the key keeps its place', async (t) => {
  const { page, fire, radios } = await two(t, { context: phone });
  const tone = await talkTone(t, radios.bob, fire.id, 440);
  await page.getByText(/talks for/).waitFor();
  await comesTrue('the call is long enough', () => tone.sent() >= LONG_FRAMES);
  await tone.stop();
  const replay = page.getByRole('button', { name: 'Replay last call in Fire' });
  await replay.and(page.locator('[aria-disabled="false"]')).waitFor();
  const [key, beside] = [await page.locator('.talk-key').boundingBox(), await replay.boundingBox()];
  t.match([key, beside], [{ width: 310 }, { x: (key?.x ?? 0) + 310 + 8, y: key?.y, width: 48 }]);
  await page.evaluate(WATCH);
  await replay.tap();
  await replaying(page, 'bob').waitFor();
  await isHeard(page, 440);
  t.strictSame(await violationsOn(page), []);
  await page.locator('.phone-key').getByRole('button', { name: 'Stop replay' }).tap();
  await isOver(page);
  await isSilent(page, 440);
  const { frames, moved, shifts } = await page.evaluate<Watched>('watched');
  t.ok(frames > 10);
  t.strictSame([moved, shifts], [[], []]);
});

/** Names of real talkgroups, and as many tiles as a desk has. */
const names = ['Works', ...busyNames.filter((name) => name !== 'Fire 1')];

for (const look of looks)
  t.test(`a replay looks well, ${titleOf(look)}`, async (t) => {
    const s = await service(t);
    const { page } = await desk(t, browser, s, await s.person('dispatch1'), {
      before: putFakeRadio,
      context: { ...(isNarrow(look) && phone), ...look },
    });
    const radio = fakeRadioOf(page);
    const busy = await busyRadioOf(radio, names);
    const talked = async (name: string, username: string, callId?: number) => {
      await busy.talks(name, username, { startedAtMs: Date.now() - 9_000, isOwn: callId === undefined });
      await busy.ends(name, username, callId);
    };
    await talked('Harbour North', 'georg07', 1);
    await talked('Works', 'you');
    await talked('Airport', 'ann', 2);
    await talked('Works', 'ben02', 3);
    await busy.talks('Harbour North', 'cid04');
    if (isNarrow(look)) await page.getByRole('combobox', { name: 'Talkgroup' }).selectOption('Airport');
    await page.getByRole('button', { name: 'Replay last call in Airport', exact: true }).press('Enter');
    await radio.commanded('replay');
    await radio.replays(2, [1]);
    await replaying(page, 'ann').waitFor();
    await judge(t, page, 'replay', look);
  });
