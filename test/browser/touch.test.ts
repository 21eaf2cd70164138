// The console by touch, as on a tablet: hold to talk, two fingers in two talkgroups, no scrolling and no menu.
import type { CDPSession } from 'playwright-core';
import t from 'tap';
import { startChromium } from '../helpers/browser/chromium.js';
import { type Desk, desk, pressed } from '../helpers/browser/desk.js';
import { service } from '../helpers/service/service.js';

const browser = await startChromium(t);

const phone = { hasTouch: true, isMobile: true, viewport: { width: 390, height: 844 } };

type Point = { x: number; y: number; id: number };

/** The points of `touchEnd` are those that are lifted, without any it is all of them. */
const touch = (
  cdp: CDPSession,
  type: 'touchStart' | 'touchEnd' | 'touchMove',
  touchPoints: readonly Point[],
) => cdp.send('Input.dispatchTouchEvent', { type, touchPoints: [...touchPoints] });

async function pointAt({ button }: Desk, name: string, id: number): Promise<Point> {
  const talk = button('Talk in', name);
  await talk.scrollIntoViewIfNeeded();
  const box = await talk.boundingBox();
  if (box === null) throw new Error(`${name} is not on the screen`);
  return { x: box.x + box.width / 2, y: box.y + box.height / 2, id };
}

t.test('a finger that stays on the button talks, and lifting it ends the talk', async (t) => {
  const s = await service(t);
  const [ann, bob] = [await s.person('ann'), await s.person('bob')];
  await s.talkgroup('Fire 1', ann, bob);
  const listener = await bob.radio();
  const opened = await desk(t, browser, s, ann, { context: phone });
  const cdp = await opened.context.newCDPSession(opened.page);
  const finger = await pointAt(opened, 'Fire 1', 1);
  await touch(cdp, 'touchStart', [finger]);
  await listener.hears('TALK_STARTED');
  await pressed(opened.button('Talk in', 'Fire 1'), true);
  await touch(cdp, 'touchMove', [{ ...finger, y: finger.y - 200 }]);
  await listener.settled();
  t.notOk(
    listener.messages.some(({ type }) => type === 'TALK_ENDED'),
    'a finger that moves does not end it',
  );
  await touch(cdp, 'touchEnd', []);
  await listener.hears('TALK_ENDED', ({ code }) => code === 'released');
  await pressed(opened.button('Talk in', 'Fire 1'), false);
});

t.test('two fingers talk in two talkgroups, each as long as it stays', async (t) => {
  const s = await service(t);
  const [ann, bob] = [await s.person('ann'), await s.person('bob')];
  const one = await s.talkgroup('Fire 1', ann, bob);
  const two = await s.talkgroup('Fire 2', ann, bob);
  const listener = await bob.radio();
  const opened = await desk(t, browser, s, ann, {
    context: { ...phone, viewport: { width: 820, height: 1180 } },
  });
  const cdp = await opened.context.newCDPSession(opened.page);
  const first = await pointAt(opened, 'Fire 1', 1);
  const second = await pointAt(opened, 'Fire 2', 2);
  await touch(cdp, 'touchStart', [first]);
  await touch(cdp, 'touchStart', [first, second]);
  for (const { id } of [one, two])
    await listener.hears('TALK_STARTED', ({ talkgroup_id }) => talkgroup_id === id);
  await touch(cdp, 'touchEnd', [first]);
  await listener.hears('TALK_ENDED', ({ talkgroup_id }) => talkgroup_id === one.id);
  await listener.settled();
  t.notOk(
    listener.messages.some(({ type }) => type === 'TALK_ENDED'),
    'the second finger still talks',
  );
  await touch(cdp, 'touchEnd', []);
  await listener.hears('TALK_ENDED', ({ talkgroup_id }) => talkgroup_id === two.id);
});
