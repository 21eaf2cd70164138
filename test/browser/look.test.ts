// Every screen of the console by the rules of WCAG 2.2, in light and dark, wide and as narrow as a phone. The first of these
// looks is part of the smoke set.
import t from 'tap';
import { startChromium } from '../helpers/browser/chromium.js';
import { looks, titleOf } from '../helpers/browser/looks.js';
import { judgeEveryScreen } from '../helpers/browser/screens.js';

const browser = await startChromium(t, { isAsking: true, hasWebGl: true });

for (const look of looks.slice(1))
  t.test(`no screen violates WCAG 2.2 A or AA, ${titleOf(look)}`, (t) => judgeEveryScreen(t, browser, look));
