// The console in a tab that nobody looks at: its radio goes on, and what it shows is right when it is looked at again.
import t from 'tap';
import { startChromium } from '../helpers/browser/chromium.js';
import { connection, desk } from '../helpers/browser/desk.js';
import { service } from '../helpers/service/service.js';

/** A browser slows the timers of a hidden tab down after 5 min. `make prove` waits for that. */
const HIDDEN_MS = process.env.PROVE_RUNS === undefined ? 5_000 : 360_000;

t.test(`a console that was hidden for ${HIDDEN_MS / 1000} s is still connected and up to date`, async (t) => {
  t.setTimeout(HIDDEN_MS + 60_000);
  const s = await service(t);
  const [ann, bob] = [await s.person('ann'), await s.person('bob')];
  const group = await s.talkgroup('Fire 1', ann, bob);
  const radio = await bob.radio();
  const { page, context, tile } = await desk(t, await startChromium(t), s, ann);
  const other = await context.newPage();
  const cdp = await context.newCDPSession(page);
  await cdp.send('Emulation.setFocusEmulationEnabled', { enabled: false });
  await other.bringToFront();
  const beginMs = performance.now();
  while (performance.now() - beginMs < HIDDEN_MS) {
    radio.speaks(group.number, 'word', { start: true });
    radio.speaks(group.number, 'word', { end: true });
    await radio.hears('TALK_ENDED');
    await new Promise((resolve) => setTimeout(resolve, 2_000));
  }
  await page.bringToFront();
  await tile('Fire 1')
    .getByText(/^bob talked \d+ s ago$/)
    .waitFor();
  t.equal(await connection(page).textContent(), 'Connected', 'the connection was never lost');
  t.equal(await page.evaluate('performance.getEntriesByType("navigation").length'), 1);
});
