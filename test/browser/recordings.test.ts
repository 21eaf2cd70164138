// Stored recordings at the console, over the real service: search, playback, download, deletion, and missed calls.
import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import t, { type Test } from 'tap';
import { readOpus } from '../../src/client/audio/ogg.js';
import { confirm, focused } from '../helpers/browser/admin.js';
import { violationsOn } from '../helpers/browser/axe.js';
import { busyRadioOf } from '../helpers/browser/busy-radio.js';
import { desk } from '../helpers/browser/desk.js';
import { fakeRadioOf, putFakeRadio } from '../helpers/browser/fake-radio.js';
import { dialogOf, encryptedService, hears, hold, setUpKeys } from '../helpers/browser/keys.js';
import { isNarrow, judge, type Look, looks, titleOf } from '../helpers/browser/looks.js';
import { phone } from '../helpers/browser/phone.js';
import { WATCH, type Watched } from '../helpers/browser/places.js';
import { levelsOf, startBrowser, TAP } from '../helpers/browser/sound-page.js';
import { recordingOf } from '../helpers/client/recording.js';
import { comesTrue } from '../helpers/eventually.js';
import { startChaosProxy } from '../helpers/network/chaos-proxy.js';
import { endedOf } from '../helpers/service/recorded.js';
import { type Person, type Service, service } from '../helpers/service/service.js';
import { radioOf, talkTone } from '../helpers/sound/talking.js';
import { RATE, sine } from '../helpers/sound/tones.js';

const browser = await startBrowser(t, sine(1_000, RATE * 5, { peakDb: -10 }));

const level = async (page: Page, hz: number) => (await levelsOf(page, hz))[0];
const isHeard = (page: Page, hz: number) =>
  comesTrue(`${hz} Hz is heard`, async () => (await level(page, hz)) > -30);
const isSilent = (page: Page, hz: number) =>
  comesTrue(`${hz} Hz is silent`, async () => (await level(page, hz)) < -60);

const dock = (page: Page) => page.locator('[data-region="dock"]');
const openTab = (page: Page) => page.getByRole('tab', { name: 'Recordings' }).click();
const rowOf = (page: Page, username: string) => page.getByRole('row').filter({ hasText: username });
const isOver = (page: Page) =>
  page.getByRole('button', { name: 'Stop replay' }).first().waitFor({ state: 'detached' });

async function recordedGroup(s: Service, name: string, ...people: Person[]) {
  const group = await s.talkgroup(name, ...people);
  await s.admin.patch(`/talkgroups/${group.id}`, { recording_days: 30 });
  return group;
}

/** Fire is recorded. A call of bob with 440 Hz and one of cid with 660 Hz are stored. */
async function twoCalls(t: Test, frames: number) {
  const s = await service(t);
  const [ann, bob, cid] = [
    await s.person('ann', { role: 'admin' }),
    await s.person('bob'),
    await s.person('cid'),
  ];
  const fire = await recordedGroup(s, 'Fire', ann, bob, cid);
  await s.talkgroup('Police', ann);
  const says = async (who: Person, hz: number) => {
    const tone = await talkTone(t, await radioOf(t, s, who), fire.id, hz);
    await comesTrue('the call is long enough', () => tone.sent() >= frames);
    await tone.stop();
  };
  await says(bob, 440);
  await says(cid, 660);
  const stored = await endedOf(s.admin, fire.id, 2);
  return { s, ann, bob, cid, fire, stored };
}

t.test('a recording is searched, played, paused by a press to talk, downloaded and deleted', async (t) => {
  const { s, ann, stored } = await twoCalls(t, 300);
  const { page, button } = await desk(t, browser, s, ann, { init: TAP });
  await openTab(page);
  const table = page.getByRole('table', { name: 'Recordings of Fire' });
  await table.waitFor();
  t.strictSame(await violationsOn(page), []);
  t.match(await table.getByRole('row').allInnerTexts(), [/Time/, /cid/, /bob/], 'the newest first');
  const row = rowOf(page, 'bob');
  const play = row.getByRole('button', { name: /^Play bob \d\d:\d\d:\d\d$/ });
  await play.press('Enter');
  await isHeard(page, 440);
  await dock(page)
    .getByText(/^Replaying .bob. in .Fire., \d\d:\d\d:\d\d$/)
    .waitFor();
  await focused(row.getByRole('button', { name: 'Pause replay' }), 'the focus stays on the row');
  t.strictSame(await violationsOn(page), []);
  await page.keyboard.press('Enter');
  await isSilent(page, 440);
  await focused(row.getByRole('button', { name: 'Continue replay' }), 'and in each state');
  await page.keyboard.press('Enter');
  await isHeard(page, 440);
  await page.getByRole('tab', { name: 'Talkgroups' }).click();
  await hold(page, button('Talk in', 'Police'));
  await isSilent(page, 440);
  await page.mouse.up();
  const goOn = dock(page).getByRole('button', { name: 'Continue replay' });
  await goOn.click();
  await isHeard(page, 440);
  await page.keyboard.press('Escape');
  await isOver(page);
  await isSilent(page, 440);

  await openTab(page);
  const downloading = page.waitForEvent('download');
  await row.getByRole('button', { name: /^Download bob / }).click();
  const download = await downloading;
  t.match(download.suggestedFilename(), /^Fire_\d{4}-\d\d-\d\dT\d{6}Z_bob\.ogg$/);
  const { packets, packetMs } = await readOpus(await readFile(await download.path()));
  t.strictSame(
    [packets.length, packetMs],
    [Number(stored[0]?.stored_frames) - 1, 20],
    'all but the empty END',
  );

  await row.getByRole('button', { name: /^Actions for bob / }).press('Enter');
  await page.getByRole('menuitem', { name: /^Delete bob / }).press('Enter');
  await page.getByText('Its speech and the name of the talker are erased').waitFor();
  t.strictSame(await violationsOn(page), []);
  await confirm(page, (await page.getByRole('dialog').getAttribute('aria-label')) ?? '', 'Delete');
  await rowOf(page, 'Erased').waitFor();
  await page.getByText(/bob \d\d:\d\d:\d\d: deleted\.$/).waitFor();
  t.equal(await rowOf(page, 'Erased').getByRole('button').count(), 0);
  await focused(rowOf(page, 'cid').getByRole('button', { name: /^Play cid/ }), 'the focus goes on');

  const talker = page.getByRole('textbox', { name: 'Talker' });
  await talker.fill('dora');
  await page.keyboard.press('Enter');
  await page.getByText('No recordings of that kind.').waitFor();
  await talker.fill('cid');
  await page.getByRole('checkbox', { name: 'Emergencies only' }).check();
  await page.getByRole('button', { name: 'Search' }).click();
  await page.getByText('No recordings of that kind.').waitFor();
  await page.getByRole('checkbox', { name: 'Emergencies only' }).uncheck();
  await page.getByLabel('From').fill('2026-01-01T00:00');
  await page.getByLabel('To', { exact: true }).fill('2025-01-01T00:00');
  await page.getByRole('button', { name: 'Search' }).click();
  await page.getByText('From must be before To.').waitFor();
  t.strictSame(await violationsOn(page), []);
  await page.getByLabel('To', { exact: true }).fill('');
  await page.getByRole('combobox', { name: 'Talkgroup', exact: true }).selectOption('All talkgroups');
  await page.getByRole('button', { name: 'Search' }).click();
  await page.getByRole('table', { name: 'Recordings of all talkgroups' }).waitFor();
  await rowOf(page, 'cid').getByRole('cell', { name: 'Fire' }).waitFor();
  await page.getByText('1 recording', { exact: true }).waitFor();
});

t.test('after a lost connection the missed calls are counted, shown and played in a row', async (t) => {
  const relay = { host: '127.0.0.1', port: 0 };
  const proxy = await startChaosProxy(relay);
  t.teardown(() => proxy.stop());
  const s = await service(t, { PUBLIC_WS_URL: `ws://127.0.0.1:${proxy.port}` });
  relay.port = Number(new URL(s.ws).port);
  const [ann, bob, cid] = [await s.person('ann'), await s.person('bob'), await s.person('cid')];
  const fire = await recordedGroup(s, 'Fire', ann, bob, cid);
  const police = await recordedGroup(s, 'Police', ann, bob, cid);
  const radios = { bob: await radioOf(t, s, bob), cid: await radioOf(t, s, cid) };
  const says = async (who: keyof typeof radios, id: string, hz: number) => {
    const tone = await talkTone(t, radios[who], id, hz);
    await comesTrue('the call is long enough', () => tone.sent() >= 200);
    await tone.stop();
  };
  // The question comes at once, and not within 30 s.
  const init = `${TAP}\nMath.random = () => 0.01;`;
  const { page } = await desk(t, browser, s, ann, { init, expected: [/WebSocket|ERR_CONNECTION/] });
  await says('bob', fire.id, 440);
  await isSilent(page, 440);
  proxy.refuse();
  proxy.reset();
  await page.getByText('You have heard no talkgroup since').waitFor();
  await says('bob', fire.id, 550);
  await says('cid', police.id, 770);
  await Promise.all([endedOf(s.admin, fire.id, 2), endedOf(s.admin, police.id, 1)]);
  await page.evaluate(WATCH);
  await proxy.listen();
  const notice = dock(page).getByRole('status').filter({ hasText: 'You missed 2 calls in 2 talkgroups' });
  await notice.waitFor();
  t.strictSame(await violationsOn(page), []);
  t.equal(await page.getByRole('button', { name: 'Stop replay' }).count(), 0, 'nothing plays by itself');
  await page.getByRole('button', { name: 'Play what I missed' }).click();
  await isHeard(page, 550);
  await page.keyboard.press('Escape');
  await isSilent(page, 550);
  await page.getByText('You missed 2 calls in 2 talkgroups').waitFor();
  t.pass('a call that was stopped counts again');
  await page.getByRole('button', { name: 'Play what I missed' }).click();
  await isHeard(page, 550);
  t.strictSame(await violationsOn(page), []);
  await isHeard(page, 770);
  await isSilent(page, 550);
  await isOver(page);
  t.equal(await page.getByText(/^You missed/).count(), 0, 'what was played is not missed any more');
  const { frames, moved, shifts } = await page.evaluate<Watched>('watched');
  t.ok(frames > 20);
  t.strictSame([moved, shifts], [[], []]);
});

t.test('a page that is opened again shows the missed calls, until they are forgotten', async (t) => {
  const { s, ann, bob, fire } = await twoCalls(t, 60);
  const { page, context } = await desk(t, browser, s, ann, { init: 'Math.random = () => 0.01;' });
  await page.getByRole('group', { name: 'Fire', exact: true }).click();
  await comesTrue('the page keeps until when it heard', () =>
    page.evaluate<boolean>(`localStorage.getItem('talkgroup.heard.${ann.id}') !== null`),
  );
  t.equal(await page.getByText(/^You missed/).count(), 0, 'calls of before the first visit are not missed');
  await page.goto('about:blank');
  const tone = await talkTone(t, await radioOf(t, s, bob), fire.id, 440);
  await comesTrue('the call is long enough', () => tone.sent() >= 60);
  await tone.stop();
  await endedOf(s.admin, fire.id, 3);
  await page.goBack();
  await page.getByRole('group', { name: 'Fire', exact: true }).click();
  await dock(page).getByText('You missed 1 call in 1 talkgroup').waitFor();
  await page.getByRole('button', { name: 'Show missed calls' }).press('Enter');
  const table = page.getByRole('table', { name: 'Missed calls' });
  await table.waitFor();
  t.match(await table.getByRole('row').allInnerTexts(), [/Talkgroup/, /bob\s+Fire/]);
  t.equal(await table.getByRole('row').count(), 2);
  t.strictSame(await violationsOn(page), []);
  await page.getByRole('button', { name: 'Forget missed calls' }).press('Enter');
  await page.getByText(/^You missed/).waitFor({ state: 'detached' });
  await page.getByRole('table', { name: 'Recordings of Fire' }).waitFor();
  await page.reload();
  await page.getByRole('table', { name: 'Recordings of Fire' }).waitFor();
  t.equal(await page.getByText(/^You missed/).count(), 0);
  await context.close();
});

t.test('an encrypted recording is played in a browser with keys, and another one says why not', async (t) => {
  const { s, ann, bob, root, fire } = await encryptedService(t, { recording_days: 30 });
  const open = () => desk(t, browser, s, bob, { init: TAP });
  const [one, other] = [await desk(t, browser, s, ann, { init: TAP }), await open()];
  for (const console of [one, other]) {
    await setUpKeys(console);
    await dialogOf(console).waitFor({ state: 'detached' });
  }
  await hold(one.page, one.button('Talk in', 'Fire'));
  await hears(other.page, 1_000);
  await one.page.mouse.up();
  await isSilent(other.page, 1_000);
  await endedOf(root, fire.id, 1);
  await openTab(other.page);
  await rowOf(other.page, 'ann').getByRole('cell', { name: 'Encrypted' }).waitFor();
  await rowOf(other.page, 'ann')
    .getByRole('button', { name: /^Play ann/ })
    .click();
  await hears(other.page, 1_000);
  await isOver(other.page);
  const later = await open();
  await openTab(later.page);
  const row = rowOf(later.page, 'ann');
  await row.getByText('No key here').waitFor();
  await row.getByRole('button', { name: /^Play ann/ }).press('Enter');
  await later.page.getByText(/: Encrypted\. Recordings from before this browser was accepted/).waitFor();
  t.strictSame(await violationsOn(later.page), []);
});

const TALKERS = ['ann', 'georg07', 'ben02', 'fatma06', 'Wachabteilung Süd 2 mit langem Namen', 'tina19'];

/** What a busy day leaves, with each kind of row. `talkgroup_id`: of the fake radio. */
function busyDay(talkgroup_id: string) {
  const day = new Date();
  day.setHours(14, 3, 22, 0);
  const at = (index: number) => day.getTime() - index * 97_000 - (index > 12 ? 86_400_000 : 0);
  return Array.from({ length: 24 }, (_, index) => {
    const row = recordingOf({
      ...{
        startedAt: at(index),
        session: 100 + index,
        talkgroup_id,
        duration_ms: 900 + ((index * 3_777) % 70_000),
      },
      username: TALKERS[index % TALKERS.length] ?? '',
    });
    const kinds: Readonly<Record<number, object>> = {
      1: { emergency: true, priority: 7 },
      3: { missing: 12, stored_frames: 188, missing_because: { memory_full: 12 } },
      4: { crypto: { suite: 5, salt: 'AAAA' } },
      6: {
        username: null,
        user_id: null,
        erased_at: day.toISOString(),
        missing: 200,
        missing_because: { erased: 200 },
      },
      7: { duration_ms: null, frames: null, missing: null, code: 'unknown' },
      9: { code: 'continues', duration_ms: 600_000 },
      10: { piece: 1 },
      11: { codec: { name: 'codec2', sample_rate: 8_000, frame_ms: 40 } },
    };
    return { ...row, ...kinds[index] };
  });
}

/** A console with a radio of the test, whose service answers lists of recordings as the test wants. */
async function fakeTab(
  t: Test,
  look: Look,
  answer: (id: string, isMore: boolean) => { status: number; body: object },
) {
  const s = await service(t);
  const opened = await desk(t, browser, s, await s.person('dispatch1', { role: 'admin' }), {
    async before(page) {
      await putFakeRadio(page);
      await page.route(/\/recordings\?/, (route) => {
        const { status, body } = answer(
          fakeRadioOf(page).talkgroupId,
          route.request().url().includes('after='),
        );
        return route.fulfill({ status, json: body });
      });
    },
    expected: [/status of (403|503)/],
    context: { ...(isNarrow(look) && phone), ...look },
  });
  const { page } = opened;
  if (isNarrow(look)) {
    await page.getByRole('button', { name: /, Account$/ }).click();
    await page.getByRole('menuitem', { name: 'Recordings' }).click();
  } else await openTab(page);
  return opened;
}

for (const look of looks) {
  t.test(`the tab looks well, ${titleOf(look)}`, async (t) => {
    const { recording_id: next } = recordingOf();
    const { page } = await fakeTab(t, look, (id, isMore) => ({
      status: 200,
      body: isMore ? { recordings: [recordingOf()], next: null } : { recordings: busyDay(id), next },
    }));
    await page.getByRole('row').nth(24).waitFor();
    await judge(t, page, 'recordings', look);
    if (!isNarrow(look))
      for (const width of [720, 1000]) {
        await page.setViewportSize({ width, height: 800 });
        const wide = await page.evaluate<number>(`document.querySelector('.header').scrollWidth`);
        t.ok(wide <= width, `the header has room for its tabs: ${wide} of ${width}`);
      }
    const locked = rowOf(page, 'Wachabteilung').first();
    await locked.getByText('No key here').waitFor();
    const play = locked.getByRole('button', { name: /^Play / });
    t.match(await play.getAttribute('title'), /^Encrypted\. This browser has no key for it until/);
    t.equal(await play.getAttribute('aria-disabled'), 'true');
    for (const text of ['no end', 'part 2', 'Erased', '12 frames, memory was full'])
      t.ok((await page.getByRole('cell', { name: text }).count()) > 0, text);
    await page.getByRole('button', { name: 'More', exact: true }).click();
    await page.getByText('25 recordings', { exact: true }).waitFor();
  });

  t.test(`the tab is empty, forbidden and without an answer, ${titleOf(look)}`, async (t) => {
    let answer: { status: number; body: object } = { status: 200, body: { recordings: [], next: null } };
    const { page } = await fakeTab(t, look, () => answer);
    await page.getByText('is not recorded').waitFor();
    await judge(t, page, 'recordings-empty', look);
    answer = { status: 403, body: { error: 'forbidden' } };
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByText('You may not hear recordings.').waitFor();
    answer = { status: 503, body: { error: 'unavailable' } };
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByText('The service has too much to do.').waitFor();
    await judge(t, page, 'recordings-failed', look);
    answer = { status: 200, body: { recordings: [], next: null } };
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('is not recorded').waitFor();
  });

  t.test(`missed calls look well, ${titleOf(look)}`, async (t) => {
    const s = await service(t);
    const dispatch = await s.person('dispatch1');
    const heard = JSON.stringify({ untilMs: Date.now() - 600_000, absences: [] });
    const { page } = await desk(t, browser, s, dispatch, {
      init: `Math.random = () => 0.01; localStorage.setItem('talkgroup.heard.${dispatch.id}', '${heard}');`,
      async before(page) {
        await putFakeRadio(page);
        const at = new Date(Date.now() - 300_000).toISOString();
        const counted = { recordings: 4, first_at: at, last_at: at };
        const talkgroups = [0, 1, 2].map((n) => ({
          ...{ talkgroup_id: `talkgroup-${n}`, ...counted, emergencies: n === 1 ? 1 : 0 },
        }));
        await page.route(/\/recordings\/missed/, (route) =>
          route.fulfill({ json: { since: at, talkgroups } }),
        );
      },
      context: { ...(isNarrow(look) && phone), ...look },
    });
    const busy = await busyRadioOf(fakeRadioOf(page), ['Harbour North', 'Airport', 'Works']);
    await busy.changes('Airport', { recordingDays: 30 });
    const sentence = page
      .getByRole('status')
      .filter({ hasText: 'You missed 12 calls in 3 talkgroups, 1 emergency' });
    await sentence.waitFor();
    await judge(t, page, 'missed', look);
    await page.getByRole('button', { name: 'Forget missed calls' }).press('Enter');
    await sentence.waitFor({ state: 'detached' });
  });
}
