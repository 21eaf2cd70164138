// The console without a mouse: the talk key, text fields, and every control by keyboard.
import t from 'tap';
import { END } from '../../src/protocol/frame.js';
import { startChromium } from '../helpers/browser/chromium.js';
import { connected, desk, openPage, openSettings, pressed, withPassword } from '../helpers/browser/desk.js';
import { comesTrue } from '../helpers/eventually.js';
import { PASSWORD } from '../helpers/http/rest.js';
import { service } from '../helpers/service/service.js';

const browser = await startChromium(t);

async function setUp(t: Parameters<typeof service>[0], { role = 'user' as const } = {}) {
  const s = await service(t);
  const [ann, bob] = [await s.person('ann', { role }), await s.person('bob')];
  const group = await s.talkgroup('Fire 1', ann, bob);
  const listener = await bob.radio();
  return { s, ann, bob, group, listener, ...(await desk(t, browser, s, ann)) };
}

t.test('the space bar talks while it is held, and its repeats begin no further burst', async (t) => {
  const { page, listener, button } = await setUp(t);
  await button('Select', 'Fire 1').click();
  await page.keyboard.down('Space');
  await listener.hears('TALK_STARTED', ({ username }) => username === 'ann');
  for (let repeat = 0; repeat < 20; repeat += 1) await page.keyboard.down('Space');
  await comesTrue('half a second of speech is heard', () => listener.frames.length > 25);
  await pressed(button('Select', 'Fire 1'), true);
  await page.keyboard.up('Space');
  await listener.hears('TALK_ENDED');
  await listener.settled();
  t.equal(listener.messages.filter(({ type }) => type === 'TALK_STARTED').length, 0);
  t.equal(listener.frames.filter(({ flags }) => (flags & END) !== 0).length, 1);
});

t.test('a reload ends the talk of a held key, and only a new press talks again', async (t) => {
  const { page, listener, button } = await setUp(t);
  await button('Select', 'Fire 1').click();
  await page.keyboard.down('Space');
  await listener.hears('TALK_STARTED', ({ username }) => username === 'ann');
  await page.reload();
  await listener.hears('TALK_ENDED');
  await connected(page);
  await button('Select', 'Fire 1').click();
  for (let repeat = 0; repeat < 20; repeat += 1) await page.keyboard.down('Space');
  await listener.settled();
  t.notOk(listener.messages.some(({ type }) => type === 'TALK_STARTED'));
  await page.keyboard.up('Space');
  await page.keyboard.down('Space');
  await listener.hears('TALK_STARTED', ({ username }) => username === 'ann');
  await page.keyboard.up('Space');
  await listener.hears('TALK_ENDED');
});

t.test('quick presses are never lost, however short', async (t) => {
  const { page, listener, button } = await setUp(t);
  await button('Select', 'Fire 1').click();
  // The relay admits eight bursts within 10 s.
  for (let press = 0; press < 6; press += 1) {
    await page.keyboard.down('Space');
    await listener.hears('TALK_STARTED');
    await page.keyboard.up('Space');
    await listener.hears('TALK_ENDED');
  }
  t.equal(listener.frames.filter(({ flags }) => (flags & END) !== 0).length, 6);
});

t.test('a text field keeps the space bar, and the focused button does not', async (t) => {
  const s = await service(t);
  const [ann, bob] = [await s.person('ann', { role: 'admin' }), await s.person('bob')];
  await s.talkgroup('Fire 1', ann, bob);
  const listener = await bob.radio();
  const { page, button } = await desk(t, browser, s, ann);
  await button('Mute', 'Fire 1').focus();
  await page.keyboard.down('Space');
  await listener.hears('TALK_STARTED');
  await page.keyboard.up('Space');
  await listener.hears('TALK_ENDED');
  t.equal(
    await button('Mute', 'Fire 1').getAttribute('aria-pressed'),
    'false',
    'the space bar has muted nothing',
  );
  await page.keyboard.press('Enter');
  await pressed(button('Mute', 'Fire 1'), true);
  await button('More for', 'Fire 1').press('Enter');
  await page.getByRole('button', { name: 'Members of Fire 1' }).press('Enter');
  const field = page.getByRole('searchbox', { name: 'Add a user: start of the name' });
  await field.focus();
  await page.keyboard.type('a b');
  t.equal(await field.inputValue(), 'a b');
  await listener.settled();
  t.notOk(listener.messages.some(({ type }) => type === 'TALK_STARTED'));
});

t.test('another key can be the talk key, also from a text field when it writes nothing', async (t) => {
  const { page, listener } = await setUp(t);
  await openSettings(page);
  await page.getByRole('button', { name: 'Change the talk key' }).press('Enter');
  await page.getByText('Press the new talk key.').waitFor();
  await page.keyboard.press('F9');
  await page.getByRole('heading', { name: 'Talk key: F9' }).waitFor();
  await page.keyboard.down('F9');
  await listener.hears('TALK_STARTED');
  await page.keyboard.up('F9');
  await listener.hears('TALK_ENDED');
  await page.keyboard.press('Space');
  await listener.settled();
  t.notOk(
    listener.messages.some(({ type }) => type === 'TALK_STARTED'),
    'the space bar is free again',
  );
});

t.test('Enter talks in the talkgroup of the focused button while it is held', async (t) => {
  const { page, listener, button } = await setUp(t);
  const talk = button('Talk in', 'Fire 1');
  await talk.focus();
  await page.keyboard.down('Enter');
  await listener.hears('TALK_STARTED');
  await pressed(talk, true);
  await page.keyboard.up('Enter');
  await listener.hears('TALK_ENDED', ({ code }) => code === 'released');
  await pressed(talk, false);
});

t.test(
  'Tab reaches every control of a tile and then those below, and the arrows move between the tabs',
  async (t) => {
    const { page } = await setUp(t);
    await page.getByRole('tab', { name: 'Talkgroups' }).focus();
    const wanted = [
      'Find a talkgroup or user',
      'ann, Account',
      'All 1',
      'Favourites 0',
      'Active 0',
      'Sort',
      'Mute not selected',
      'Compact tiles',
      'Large tiles',
      'Select Fire 1',
      'Mute Fire 1',
      'More for Fire 1',
      'Talk in Fire 1',
      'Hold to talk to all selected',
      'Emergency in Fire 1',
    ];
    const reached: (string | null)[] = [];
    for (let step = 0; step < wanted.length; step += 1) {
      await page.keyboard.press('Tab');
      reached.push(
        await page.evaluate(
          `document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent`,
        ),
      );
    }
    t.same(reached, wanted);
    await page.getByRole('tab', { name: 'Talkgroups' }).focus();
    await page.keyboard.press('ArrowRight');
    await page.getByRole('tab', { name: 'Map', selected: true }).waitFor();
    t.equal(await page.evaluate('location.hash'), '#map');
    await page.keyboard.press('ArrowLeft');
    await page.getByRole('group', { name: 'Fire 1', exact: true }).waitFor();
  },
);

t.test('a dialog gives the focus back to the button that opened it', async (t) => {
  const { page, button } = await setUp(t);
  await button('More for', 'Fire 1').press('Enter');
  await page.getByRole('button', { name: 'Members of Fire 1' }).press('Enter');
  await page.getByRole('dialog', { name: 'Members of Fire 1' }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await comesTrue('the button has the focus', async () => {
    return (await page.evaluate(`document.activeElement.getAttribute('aria-label')`)) === 'More for Fire 1';
  });
});

t.test('from the login to the settings a whole shift needs no pointer', async (t) => {
  const s = await service(t);
  const [ann, bob] = [await s.person('ann', { role: 'admin' }), await s.person('bob', { serial: 'SN-7' })];
  const group = await s.talkgroup('Fire 1', ann, bob);
  const other = await bob.radio();
  await withPassword(s, ann);
  const { page } = await openPage(t, browser, s);
  const { keyboard } = page;
  const type = async (...keys: string[]) => {
    for (const key of keys) await keyboard.press(key);
  };
  const focused = () =>
    page.evaluate<string>(
      `document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent`,
    );
  /** By the Tab key. */
  const reach = async (name: string | RegExp) => {
    for (let step = 0; step < 30; step += 1) {
      if ((await focused()).match(name) !== null) return;
      await keyboard.press('Tab');
    }
    t.fail(`Tab does not reach ${name}: ${await focused()}`);
  };

  await page.getByRole('button', { name: 'Log in' }).waitFor();
  await keyboard.type('ann');
  await type('Tab');
  await keyboard.type(PASSWORD);
  await type('Enter');
  await connected(page);
  await page.getByRole('group', { name: 'Fire 1', exact: true }).waitFor();
  await type('/', 'f', 'i');
  await page.getByRole('option', { name: 'Fire 1 Talkgroup' }).waitFor();
  await type('Enter');
  t.equal(await focused(), 'Select Fire 1');

  await keyboard.down('Space');
  await other.hears('TALK_STARTED', ({ username }) => username === 'ann');
  await keyboard.up('Space');
  await other.hears('TALK_ENDED');
  other.speaks(group.number, 'word', { start: true });
  await page.getByText('bob is talking').waitFor();
  other.speaks(group.number, '', { end: true });
  await page.getByRole('region', { name: 'Last ten' }).getByText('bob').waitFor();
  await keyboard.down('Shift');
  await keyboard.down('Space');
  await other.hears('TALK_STARTED', ({ username }) => username === 'ann');
  await keyboard.up('Space');
  await keyboard.up('Shift');

  await other.asks({ type: 'GPS_UPDATE', lat: 52.52, lng: 13.405, alt: 34 });
  await other.asks({ type: 'EMERGENCY_RAISE', talkgroup_id: group.id });
  await page.getByRole('group', { name: 'Emergency of bob in Fire 1' }).waitFor();
  await type('a');
  // For half a second after its meaning has changed it takes no press.
  const answers = (name: string) =>
    page.locator('.alarm-row .answer[aria-disabled=false]').filter({ hasText: name }).waitFor();
  await answers('Acknowledge');
  await reach('Acknowledge');
  await type('Enter');
  await other.hears('EMERGENCY', ({ state }) => state === 'acknowledged');
  await answers('Hold to clear'); // the same button, which has the focus
  await reach('Hold to clear');
  await keyboard.down('Enter');
  await other.hears('EMERGENCY', ({ state }) => state === 'cleared');
  await keyboard.up('Enter');

  await reach(/, Account$/);
  await keyboard.down('Shift');
  await reach('Talkgroups');
  await keyboard.up('Shift');
  await type('ArrowRight');
  await page.getByRole('tab', { name: 'Map', selected: true }).waitFor();
  await page.getByRole('button', { name: 'Show bob on the map' }).waitFor();
  await reach('Show bob on the map');
  await type('Enter');
  await page.getByRole('region', { name: 'Card of bob' }).waitFor();
  await comesTrue('the card has the focus', async () => (await focused()) === 'Card of bob');
  await type('/', 'b', 'o');
  await page.getByRole('option', { name: 'bob User' }).waitFor();
  await type('Enter');
  await page.getByRole('complementary', { name: 'Card of bob' }).getByText('SN-7').waitFor();
  await reach(/, Account$/);
  await type('Enter');
  await comesTrue('the first item of the menu has the focus', async () => (await focused()) === 'Settings');
  await type('Enter');
  const clock = page.getByRole('button', { name: '24-hour clock' });
  await clock.waitFor();
  await reach('24-hour clock');
  await type('Enter');
  await pressed(clock, false);
});
