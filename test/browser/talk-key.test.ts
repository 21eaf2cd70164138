// The talk key in each of its states: what it shows, in a tile and in the talk bar, and that nothing moves meanwhile.
import type { Page } from 'playwright-core';
import t from 'tap';
import type { TalkState } from '../../src/console/worker/messages.js';
import { startChromium } from '../helpers/browser/chromium.js';
import { type Desk, desk } from '../helpers/browser/desk.js';
import { fakeRadioOf, putFakeRadio } from '../helpers/browser/fake-radio.js';
import { isNarrow, judge, looks, titleOf } from '../helpers/browser/looks.js';
import { eventually } from '../helpers/eventually.js';
import { service } from '../helpers/service/service.js';

const browser = await startChromium(t);

type Seen = {
  /** By talkgroup, and `bar`: looks and words of the key, in order. */
  keys: Record<string, string[]>;
  /** By the name of a button: where it was. */
  places: Record<string, string[]>;
  /** Pairs of words of a tile and the bar that were on the page at the same time and differ. */
  unequal: string[];
};

/** Keeps what a page shows, which is gone before a busy test has looked. */
const WATCHING = `globalThis.seen = { keys: {}, places: {}, unequal: [] };
  const keep = (list, value) => list.at(-1) !== value && list.push(value);
  globalThis.watchKeys = () => {
    look();
    new MutationObserver(look).observe(document, {
      subtree: true, childList: true, characterData: true, attributes: true,
    });
  };
  function look() {
    const bar = document.querySelector('.talk-bar .talk-key');
    for (const key of document.querySelectorAll('.talk-key')) {
      const owner = key.closest('[data-talkgroup]')?.getAttribute('aria-label') ?? 'bar';
      const name = key.classList[1];
      const word = key.querySelector('.word').textContent;
      keep(seen.keys[owner] ??= [], name + ' ' + word);
      if (owner !== 'bar' && name !== 'ready' && word !== bar.querySelector('.word').textContent)
        seen.unequal.push(owner + ': ' + word + ', bar: ' + bar.querySelector('.word').textContent);
    }
    for (const button of document.querySelectorAll('.tile button, .talk-bar button')) {
      const { x, y, width, height } = button.getBoundingClientRect();
      keep(seen.places[button.getAttribute('aria-label')] ??= [], [x, y, width, height].join());
    }
  }`;

const seenBy = (page: Page) => page.evaluate<Seen>('seen');

/** Waits until the key of a talkgroup, or `bar`, shows this look and word. */
const shows = ({ page }: Desk, owner: string, shown: string | RegExp) =>
  eventually(async () => {
    const last = (await seenBy(page)).keys[owner]?.at(-1) ?? 'nothing';
    if (!(typeof shown === 'string' ? last === shown : shown.test(last)))
      throw new Error(`${owner}: ${last}`);
  });

t.test(
  'each state of a press has its own look, in the tile and the bar at once, and moves nothing',
  async (t) => {
    const s = await service(t);
    const [ann, bob] = [await s.person('ann'), await s.person('bob')];
    await s.talkgroupWith({ name: 'Fire', floor_mode: 'single', max_talk_ms: 3_000 }, ann, bob);
    const police = await s.talkgroupWith({ name: 'Police', floor_mode: 'single' }, ann, bob);
    const works = await s.talkgroupWith({ name: 'Works', floor_mode: 'broadcast' }, ann, bob);
    const other = await bob.radio();
    const opened = await desk(t, browser, s, ann, { init: WATCHING });
    const { page, button, tile } = opened;
    const hold = async (name: string) => {
      await button('Talk in', name).hover();
      await page.mouse.down();
    };
    const speaking = setInterval(() => other.speaks(police.number, 'word'), 20);
    t.teardown(() => clearInterval(speaking));
    other.speaks(police.number, 'first', { start: true });
    await tile('Police').getByText('bob is talking').waitFor();
    await page.evaluate('watchKeys()');

    await hold('Works');
    await shows(opened, 'Works', 'denied Denied: admins only');
    const description = await button('Talk in', 'Works').evaluate(
      (key) => key.ownerDocument.getElementById(key.getAttribute('aria-describedby') ?? '')?.textContent,
    );
    t.equal(
      description,
      'Only dispatchers and administrators may talk here. Not tried again while you hold.',
    );
    await page.locator('[aria-live=assertive]').filter({ hasText: 'Works: Only dispatchers' }).waitFor({
      state: 'attached',
    });
    await page.mouse.up();
    await eventually(async () => {
      if ((await button('Talk in', 'Works').getAttribute('aria-pressed')) !== 'false')
        throw new Error('pressed');
    });
    await shows(opened, 'Works', 'ready Talk');

    await hold('Police');
    await shows(opened, 'Police', 'asking Place 1 of 1');
    await page.getByRole('status').filter({ hasText: 'Police: Place 1 of 1 in the queue' }).waitFor({
      state: 'attached',
    });
    clearInterval(speaking);
    other.speaks(police.number, 'last', { end: true });
    await other.hears('TALK_STARTED', ({ username }) => username === 'ann');
    await shows(opened, 'Police', /^on-air ON AIR 0:0[1-9]$/);
    await page.mouse.up();
    await shows(opened, 'Police', 'ready Talk');
    await page.getByRole('status').filter({ hasText: 'Police: You have stopped talking' }).waitFor({
      state: 'attached',
    });

    await hold('Fire');
    await shows(opened, 'Fire', 'denied Cut off: talk limit');
    await page.mouse.up();
    await page.mouse.down();
    await shows(opened, 'Fire', /^on-air/);
    await s.admin.patch(`/talkgroups/${works.id}`, { name: 'Works' }); // a change of the list moves nothing either
    await page.mouse.up();
    await shows(opened, 'Fire', 'ready Talk');

    const { keys, places, unequal } = await seenBy(page);
    const order = (shown: readonly string[] = []) =>
      [...new Set(shown)].map((one) => one.replace(/\d+/g, 'N'));
    t.strictSame(order(keys.Works), ['ready Talk', 'asking Asking', 'denied Denied: admins only']);
    t.strictSame(
      [...new Set(order(keys.Police))],
      ['ready Talk', 'asking Asking', 'asking Place N of N', 'on-air ON AIR N:N'],
    );
    t.strictSame(
      [...new Set(order(keys.Fire))],
      ['ready Talk', 'asking Asking', 'on-air ON AIR N s left', 'denied Cut off: talk limit'],
    );
    const again = keys.Fire?.slice(keys.Fire.indexOf('denied Cut off: talk limit') + 1) ?? [];
    t.equal(again[0], 'asking Asking', 'a new press ends the amber look at once');
    t.strictSame(unequal, [], 'the tile and the bar say the same');
    for (const [name, all] of Object.entries(places))
      t.equal(all.length, 1, `${name}: ${all.join(' then ')}`);
  },
);

/** One for each talkgroup of the test below. */
const STATES: readonly TalkState[] = [
  { phase: 'asking' },
  { phase: 'queued', position: 2, size: 3 },
  { phase: 'talking', sinceMs: Date.now(), limitMs: 3_600_000 },
  { phase: 'talking', sinceMs: 0, limitMs: 9_000 },
  { phase: 'refused', code: 'busy', talker: 'wolfgang.amadeus', isFinal: false },
  { phase: 'refused', code: 'keys_behind', talker: null, isFinal: false },
  { phase: 'refused', code: 'forbidden', talker: null, isFinal: true },
  { phase: 'over', code: 'too_long', isFinal: true },
];

// phone.test.ts has the key of a phone.
for (const look of looks.filter((look) => !isNarrow(look))) {
  t.test(`keys in all states have one size and violate no rule of WCAG 2.2, ${titleOf(look)}`, async (t) => {
    const s = await service(t);
    const { page, button } = await desk(t, browser, s, await s.person('ann'), {
      ...{ withoutMicrophone: true, before: putFakeRadio },
      context: { ...look, viewport: { ...look.viewport, height: 1_400 }, reducedMotion: 'reduce' },
    });
    const radio = fakeRadioOf(page);
    await radio.groups(STATES.length);
    const names = STATES.map((_, n) => `Group ${n}`);
    for (const name of names) await button('Select', name).click();
    await page.mouse.move(1, 1);
    const keys = page.locator('.talk-key .hold');
    const boxes = async () => Promise.all((await keys.all()).map((key) => key.boundingBox()));
    const bar = page.getByRole('button', { name: 'Hold to talk to all selected' });
    await bar.focus();
    const before = await boxes();
    await page.keyboard.down('Enter');
    await page
      .locator('.tile .talk-key.asking')
      .nth(STATES.length - 1)
      .waitFor();
    await radio.talks(STATES.map((state, n) => ({ talkgroupId: `talkgroup-${n}`, state })));
    await page.locator('.tile .talk-key.denied').first().waitFor();
    t.equal(await page.locator('.talk-bar .word').textContent(), 'Denied in 4 of 8');
    await judge(t, page, 'talk-keys', look);
    t.strictSame(await boxes(), before);
    const cut = await page.evaluate(
      `[...document.querySelectorAll('.talk-key .word')].filter((word) => word.scrollWidth > word.clientWidth || word.offsetHeight > word.parentElement.offsetHeight).map((word) => word.textContent)`,
    );
    t.strictSame(cut, [], 'each word fits its key');
    // The rules of contrast are for the colours of the page, which are not drawn now.
    await page.emulateMedia({ forcedColors: 'active' });
    const borders = await page.evaluate<[string, string][]>(
      `[...document.querySelectorAll('.tile .talk-key')].map((key) => {
        const { borderTopStyle, borderTopWidth } = getComputedStyle(key.querySelector('.hold'));
        return [key.classList[1], borderTopStyle + ' ' + borderTopWidth];
      })`,
    );
    const byLook = new Map(borders);
    t.equal(byLook.size, 4, [...byLook.keys()].join());
    t.equal(new Set(byLook.values()).size, 4, `without colours each look has its border: ${[...byLook]}`);
    for (const [name, border] of borders) t.equal(byLook.get(name), border);
    await page.keyboard.up('Enter');
  });
}
