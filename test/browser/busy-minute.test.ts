// A busy minute at a desk of 30 talkgroups: in no frame does anything of the page change its place or its size.
import type { Page } from 'playwright-core';
import t from 'tap';
import { busyNames } from '../helpers/browser/busy-desk.js';
import { busyRadioOf } from '../helpers/browser/busy-radio.js';
import { startChromium } from '../helpers/browser/chromium.js';
import { desk } from '../helpers/browser/desk.js';
import { fakeRadioOf, putFakeRadio } from '../helpers/browser/fake-radio.js';
import { WATCH, type Watched } from '../helpers/browser/places.js';
import { comesTrue } from '../helpers/eventually.js';
import { service } from '../helpers/service/service.js';

const BURSTS = 40;
/** The fake radio has one more, which is Fire 1. */
const names = busyNames.filter((name) => name !== 'Fire 1');
/** Talkgroups of which frames are lost. */
const LOSSY = [8, 11];
const ALARMS = ['ada', 'bea', 'cyd', 'dee', 'eve', 'flo'];

t.test('nothing changes its place or size in a busy minute, but for new alarms at the end', async (t) => {
  const s = await service(t);
  const { page, button } = await desk(
    t,
    await startChromium(t),
    s,
    await s.person('ann', { role: 'admin' }),
    {
      withoutMicrophone: true,
      before: putFakeRadio,
    },
  );
  const radio = fakeRadioOf(page);
  const busy = await busyRadioOf(radio, names);
  await button('Select', 'Airport').click();
  await page.getByText('Talk to', { exact: true }).waitFor();
  await page.evaluate(WATCH);
  const name = (index: number) => names[index % names.length] ?? '';
  const beganMs = Date.now() - 120_000;
  let raised = 0;
  const raise = async () => {
    await alarm(ALARMS[raised] ?? '', 'raised');
    raised += 1;
  };
  const alarm = (username: string, state: string) => {
    const index = ALARMS.indexOf(username);
    const raised_at = new Date(beganMs + index * 1_000).toISOString();
    const emergency = { emergency_id: username, user_id: username, username, state, raised_at };
    return radio.emergency({ ...emergency, talkgroup_id: busy.id(name(index)) });
  };

  for (let burst = 0; burst < BURSTS; burst += 1) {
    await busy.talks(name(burst * 7), `user ${burst}`, { emergency: burst % 9 === 8 });
    // Up to six talk at once.
    if (burst >= 5) await busy.ends(name((burst - 5) * 7), `user ${burst - 5}`);
    if (burst % 6 === 5 && raised < ALARMS.length) await raise();
    if (burst === 14) await alarm('ada', 'acknowledged');
    if (burst === 20) await denied(page, radio, busy.id('Airport'), 'forbidden');
    if (burst === 18) for (const index of LOSSY) await busy.changes(name(index), { missed: 37 });
    if (burst === 24) await lostAndFound(page, radio);
    if (burst === 28) await alarm('bea', 'acknowledged');
    if (burst === 34) await denied(page, radio, busy.id('Airport'), 'queue_full');
    if (burst === 36) await alarm('cyd', 'acknowledged');
  }
  for (const index of LOSSY)
    t.ok(
      await page
        .getByRole('group', { name: name(index) })
        .getByText('37 lost')
        .isVisible(),
    );
  await alarm('ada', 'cleared');
  await alarm('bea', 'cleared');
  const alarms = page.getByRole('region', { name: 'Alarms' });
  await comesTrue('two alarms are cleared', async () => {
    return (await alarms.getByText('cleared', { exact: true }).count()) === 2;
  });
  const last = page.getByRole('region', { name: 'Last ten' }).getByRole('button').first();
  await last.filter({ hasText: `user ${BURSTS - 6}` }).waitFor();
  const { frames, places, moved, shifts } = await page.evaluate<Watched>('watched');
  t.ok(frames > BURSTS && places > 100, `${frames} frames of ${places} places`);
  t.strictSame(moved, []);
  t.strictSame(shifts, []);
});

type Radio = ReturnType<typeof fakeRadioOf>;

/** A press of the key in the dock that the server rejects. */
async function denied(page: Page, radio: Radio, talkgroupId: string, code: 'forbidden' | 'queue_full') {
  await page.getByRole('button', { name: 'Hold to talk to all selected' }).hover();
  await page.mouse.down();
  await radio.commanded('talk');
  const isFinal = code === 'forbidden';
  await radio.talks([{ talkgroupId, state: { phase: 'refused', code, talker: null, isFinal } }]);
  await page.locator('.talk-bar .talk-key.denied').waitFor();
  await page.mouse.up();
}

async function lostAndFound(page: Page, radio: Radio): Promise<void> {
  await radio.lost();
  await page.getByText('You have heard no talkgroup since').waitFor();
  await radio.reconnected();
  await page.getByRole('region', { name: 'On air now' }).getByRole('heading').waitFor();
}
