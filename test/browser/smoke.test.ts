// The console in a browser, in short: log in, talk, hear, an emergency, the map, and no screen that violates WCAG 2.2. Part
// of `make test`.
import t from 'tap';
import { desk, pressed } from '../helpers/browser/desk.js';
import { looks, titleOf } from '../helpers/browser/looks.js';
import { judgeEveryScreen } from '../helpers/browser/screens.js';
import { levelsOf, startBrowser, TAP } from '../helpers/browser/sound-page.js';
import { eventually } from '../helpers/eventually.js';
import { service } from '../helpers/service/service.js';
import { radioOf, record, talkTone } from '../helpers/sound/talking.js';
import { levelAt, RATE, sine } from '../helpers/sound/tones.js';

const LOUD = -30;
const SILENT = -60;

/** As a browser that was allowed to use the microphone before. */
const context = { permissions: ['microphone'] };
const browser = await startBrowser(t, sine(1_000, RATE * 5, { peakDb: -10 }), {
  isAsking: true,
  hasWebGl: true,
});

for (const look of looks.slice(0, 1))
  t.test(`no screen violates WCAG 2.2 A or AA, ${titleOf(look)}`, (t) => judgeEveryScreen(t, browser, look));

t.test('what is said at the microphone while a button is held is heard by a radio', async (t) => {
  const s = await service(t);
  const [ann, bob] = [await s.person('ann'), await s.person('bob')];
  await s.talkgroup('Fire', ann, bob);
  const { heard, last } = await record(t, await radioOf(t, s, bob));
  const { page, button } = await desk(t, browser, s, ann, { context });
  const talk = button('Talk in', 'Fire');
  await talk.hover();
  await page.mouse.down();
  await eventually(() => {
    const level = levelAt(1_000, last(25));
    if (heard.length < 50 || level < LOUD) throw new Error(`${heard.length} frames, ${level} dBFS`);
  });
  const samples = last(25);
  t.ok(levelAt(1_000, samples) - levelAt(1_500, samples) > 25, 'and no other frequency');
  await page.mouse.up();
  await pressed(talk, false);
});

t.test('what a radio says is heard by the user, as loud as the tile is set', async (t) => {
  const s = await service(t);
  const [ann, bob] = [await s.person('ann'), await s.person('bob')];
  const [fire, police] = [await s.talkgroup('Fire', ann, bob), await s.talkgroup('Police', ann, bob)];
  const radio = await radioOf(t, s, bob);
  const { page, tile, button, menu } = await desk(t, browser, s, ann, { init: TAP, context });
  const hears = (hz: number, isLoud: boolean) =>
    eventually(async () => {
      const [left, right] = await levelsOf(page, hz);
      if (isLoud ? left < LOUD : left > SILENT) throw new Error(`${hz} Hz: ${left} and ${right} dBFS`);
      return left;
    });
  await talkTone(t, radio, fire.id, 440);
  const { stop } = await talkTone(t, radio, police.id, 880);
  await tile('Fire').getByText('bob is talking').waitFor();
  await hears(440, true);
  await hears(880, true);
  await button('Mute', 'Fire').click();
  await hears(440, false);
  await hears(880, true);
  await button('Mute', 'Fire').click();
  await hears(440, true);
  // The end of mute is a ramp.
  const loud = await eventually(async () => {
    const [[before], [after]] = [await levelsOf(page, 440), await levelsOf(page, 440)];
    if (Math.abs(after - before) > 0.5) throw new Error(`${before}, then ${after} dBFS`);
    return after;
  });
  await (await menu('Fire')).getByRole('slider', { name: 'Volume of Fire' }).fill('10');
  await eventually(async () => {
    const [left] = await levelsOf(page, 440);
    if (loud - left < 15) throw new Error(`${left} dBFS after ${loud}`);
  });
  await stop();
  await hears(880, false);
});
