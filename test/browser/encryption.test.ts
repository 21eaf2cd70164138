// Encrypted speech at the console: what is heard, and what the lock says.
import t from 'tap';
import { desk, pressed } from '../helpers/browser/desk.js';
import { dialogOf, encryptedService, hears, hold, SECRETS_KEY, setUpKeys } from '../helpers/browser/keys.js';
import { startBrowser, TAP } from '../helpers/browser/sound-page.js';
import { service } from '../helpers/service/service.js';
import { radioOf, talkTone } from '../helpers/sound/talking.js';
import { RATE, sine } from '../helpers/sound/tones.js';

const browser = await startBrowser(t, sine(1_000, RATE * 5, { peakDb: -10 }));

t.test('two consoles talk encrypted where it is required, and each shows the lock', async (t) => {
  const { s, ann, bob } = await encryptedService(t);
  const one = await desk(t, browser, s, ann, { init: TAP });
  await setUpKeys(one);
  await dialogOf(one).waitFor({ state: 'detached' });
  const other = await desk(t, browser, s, bob, { init: TAP });
  await setUpKeys(other);
  await dialogOf(other).waitFor({ state: 'detached' });
  await one.tile('Fire').getByText('Always encrypted. The operator can still hear it.').waitFor();

  const listener = await bob.radio();
  await hold(one.page, one.button('Talk in', 'Fire'));
  await other.tile('Fire').getByText('ann is talking').waitFor();
  await other.tile('Fire').getByText('encrypted', { exact: true }).waitFor();
  await hears(other.page, 1_000);
  t.ok(
    listener.frames.length > 0 && listener.frames.every(({ flags }) => (flags & 1) !== 0),
    'no clear frame',
  );
  await one.page.mouse.up();
  await other
    .tile('Fire')
    .getByText(/^ann talked/)
    .waitFor();
  t.equal(
    await other
      .tile('Fire')
      .getByText(/cut off/)
      .count(),
    0,
  );

  // The keys are there after a reload, without a password.
  await other.page.reload();
  await other.page.getByRole('tab', { name: 'Talkgroups' }).waitFor();
  await hold(one.page, one.button('Talk in', 'Fire'));
  await other.tile('Fire').getByText('encrypted', { exact: true }).waitFor();
  await one.page.mouse.up();
  t.equal(await dialogOf(other).count(), 0);
});

t.test('a user encrypts by choice where it is allowed, and the choice is kept', async (t) => {
  const s = await service(t, { SECRETS_KEY });
  const [ann, bob] = [await s.person('ann'), await s.person('bob')];
  await s.talkgroup('Works', ann, bob);
  const one = await desk(t, browser, s, ann);
  t.equal(await dialogOf(one).count(), 0, 'nobody is asked before a key is needed');
  await one.choose('Encrypt what I say in', 'Works');
  await setUpKeys(one);
  await dialogOf(one).waitFor({ state: 'detached' });
  await one.tile('Works').getByText('You encrypt what you say. The operator can still hear it.').waitFor();

  const other = await desk(t, browser, s, bob, { init: TAP });
  const listener = await bob.radio();
  await hold(one.page, one.button('Talk in', 'Works'));
  await listener.hears('TALK_STARTED', ({ crypto }) => crypto !== undefined);
  // The talk itself shows bob's console that it needs a key.
  await setUpKeys(other);
  await other.tile('Works').getByText('encrypted', { exact: true }).waitFor();
  await hears(other.page, 1_000);
  await one.page.mouse.up();

  await one.page.reload();
  const encrypt = (await one.menu('Works')).getByRole('button', { name: 'Encrypt what I say in Works' });
  await pressed(encrypt, true);
  await encrypt.click();
  await pressed(encrypt, false);
});

t.test(
  'clear speech of an emergency is CLEAR, and a change of the talkgroup must be confirmed',
  async (t) => {
    const { s, ann, bob, root, fire } = await encryptedService(t);
    const one = await desk(t, browser, s, ann, { init: TAP });
    const { page, tile, menu } = one;
    await setUpKeys(one);
    await dialogOf({ page }).waitFor({ state: 'detached' });
    // Without keys, as a radio that lost them.
    const radio = await radioOf(t, s, bob);
    await radio.emergency.raise({ talkgroupId: fire.id });
    const { stop } = await talkTone(t, radio, fire.id, 440);
    await tile('Fire').getByText('CLEAR', { exact: true }).waitFor();
    await tile('Fire').getByRole('alert').filter({ hasText: 'CLEAR not encrypted' }).waitFor();
    await hears(page, 440);
    await stop();
    await root.call('PATCH', `/talkgroups/${fire.id}`, { encryption: 'allowed' });
    await tile('Fire').getByText('Encryption is not required here any more.').waitFor();
    const again = await talkTone(t, radio, fire.id, 440);
    await tile('Fire').getByText('CLEAR', { exact: true }).waitFor();
    const known = 'I know that speech in Fire may be clear';
    await (await menu('Fire')).getByRole('button', { name: known }).click();
    await tile('Fire').getByText('CLEAR', { exact: true }).waitFor({ state: 'detached' });
    await again.stop();
  },
);
