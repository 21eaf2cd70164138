// Nothing moves under a pointer when a banner goes away: the first press after a load starts the sound.
import t from 'tap';
import { connected, desk, pressed } from '../helpers/browser/desk.js';
import { startBrowser } from '../helpers/browser/sound-page.js';
import { eventually } from '../helpers/eventually.js';
import { service } from '../helpers/service/service.js';

const browser = await startBrowser(t);

t.test(
  'the first press after a reload finds its button, although the banner about sound goes away',
  async (t) => {
    const s = await service(t);
    const ann = await s.person('ann');
    await s.talkgroup('Fire', ann);
    const { page, button } = await desk(t, browser, s, ann);
    await page.reload();
    await connected(page);
    const start = page.getByRole('button', { name: 'Start the sound' });
    await start.waitFor();
    const mute = button('Mute', 'Fire');
    const before = await mute.boundingBox();
    await mute.hover();
    await page.mouse.down();
    await start.waitFor({ state: 'detached' });
    await new Promise((resolve) => setTimeout(resolve, 200)); // a person holds a button that long
    await page.mouse.up();
    await pressed(mute, true);
    t.strictSame(await mute.boundingBox(), before, 'it is where it was');
    await page.mouse.move(200, 5);
    await eventually(async () => {
      const { y = 0 } = (await mute.boundingBox()) ?? {};
      if (y >= (before?.y ?? 0)) throw new Error('the place of the banner is still empty');
    });
  },
);
