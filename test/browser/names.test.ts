// Names of talkgroups and users as any user may choose them: they are text everywhere, and never become a part of the page.
import t from 'tap';
import { startChromium } from '../helpers/browser/chromium.js';
import { desk } from '../helpers/browser/desk.js';
import { comesTrue } from '../helpers/eventually.js';
import { service } from '../helpers/service/service.js';

const browser = await startChromium(t);
const s = await service(t);

const names = {
  markup: '<img src=x onerror=alert(1)><script>alert(2)</script>',
  quotes: `" onclick="alert(3)" '>`,
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the name of a user, which a template must not read
  template: '${7*7} {{7*7}} &lt;b&gt; %3Cb%3E',
  'right-to-left marks': 'abc\u202eTERCES\u2066\u200f',
  arabic: 'إطفاء ١',
  emoji: '🚒'.repeat(64),
  'one long word': 'W'.repeat(128),
  'combining marks': `e${'\u0301'.repeat(100)}`,
};

for (const [what, name] of Object.entries(names)) {
  t.test(`a name of ${what} is text on the card, the alarm, the key and the dialog of a phone`, async (t) => {
    const [ann, bob] = [await s.person(`admin of ${what}`, { role: 'admin' }), await s.person(name)];
    const group = await s.talkgroup('plain', ann, bob);
    // Older names may have what a new one must not.
    await s.sql`update talkgroups set name = ${name} where id = ${group.id}`;
    const radio = await bob.radio();
    const { page, button } = await desk(t, browser, s, ann, {
      context: { viewport: { width: 390, height: 844 } },
    });
    const elements = await page.evaluate<number>(`document.querySelectorAll('img, script').length`);
    page.on('dialog', (dialog) => t.fail(`the name has opened ${dialog.message()}`));
    radio.speaks(group.number, 'word', { start: true });
    const card = page.getByRole('region', { name: 'On air now' });
    await comesTrue('the card names the talker', async () =>
      ((await card.textContent()) ?? '').includes(name),
    );
    t.equal(await page.locator('.phone-choice bdi').textContent(), name);
    await radio.asks({ type: 'EMERGENCY_RAISE', talkgroup_id: group.id });
    // A bar speaks for the list of alarms, and opens it.
    const bar = page.getByRole('alert').filter({ hasText: '1 alarm, 1 new' });
    await bar.waitFor();
    t.equal(await bar.textContent(), `1 alarm, 1 new: ${name}`);
    await page.getByRole('button', { name: /^Show/ }).click();
    const alert = page.getByRole('region', { name: 'Alarms' }).getByRole('alert');
    await alert.waitFor();
    t.equal(await alert.textContent(), `Emergency of ${name} in ${name}`);
    await page.getByRole('tab', { name: 'Talk' }).click();
    await button('Talk in', name).focus();
    await page.keyboard.down('Enter');
    const talkBar = page.getByRole('region', { name: 'Talk', exact: true });
    const barText = async () => (await talkBar.textContent()) ?? '';
    await comesTrue('the bar says talk now', async () => (await barText()).includes(`${name}: Talk now`));
    await page.keyboard.up('Enter');
    await page.getByRole('button', { name: /, Account$/ }).click();
    await page.getByRole('menuitem', { name: `Members of ${name}`, exact: true }).click();
    const dialog = page.getByRole('dialog', { name: `Members of ${name}`, exact: true });
    await dialog.getByRole('button', { name: `Actions for ${name}`, exact: true }).waitFor();
    t.equal(await page.evaluate(`document.querySelectorAll('img, script').length`), elements);
    const [wide, screen] = await page.evaluate<[number, number]>(
      '[document.documentElement.scrollWidth, innerWidth]',
    );
    t.ok(wide <= screen, `the page is not wider than the screen: ${wide} of ${screen}`);
  });
}
