// The phone layout without a page: the talkgroup it talks to, what the browser is asked for, and the key of a headset.
import { type Signal, signal } from '@preact/signals';
import t from 'tap';
import { createAway } from '../../src/console/phone/away.js';
import { createPhoneChoices } from '../../src/console/phone/choices.js';
import { HEADSET_MS, listenToHeadset } from '../../src/console/phone/headset.js';
import { createRing } from '../../src/console/phone/ring.js';
import { swipeOf } from '../../src/console/phone/swipe.js';
import { heardOf } from '../../src/console/phone/talkers.js';
import { createUndo, UNDO_MS } from '../../src/console/phone/undo.js';
import { keepAwake } from '../../src/console/phone/wake.js';
import { createTalking } from '../../src/console/talk/state.js';
import { createTalkgroups } from '../../src/console/talkgroups/state.js';
import type { TalkerView } from '../../src/console/worker/messages.js';
import { manualClock, turn } from '../helpers/client/fakes.js';
import { talkgroupView } from '../helpers/client/talkgroup-view.js';

const view = (id: string, talkers: TalkerView[] = []) => talkgroupView(id, { talkers });

const talker = (username: string, isOwn = false): TalkerView => ({
  ...{ session: 1, burst: 1, username, startedAtMs: 0, emergency: false, isOwn, lock: null, unopened: null },
});

const nothing = () => {};

function talkgroupsOf(...ids: string[]) {
  const sound = { setVolume: nothing, setMuted: nothing, setSide: nothing };
  const choices = { read: () => null, write: nothing };
  const talkgroups = createTalkgroups(sound, choices, {
    added: nothing,
    removed: nothing,
    encrypts: nothing,
  });
  talkgroups.take({ talkgroups: ids.map((id) => view(id)), left: [] });
  const tile = (id: string) => {
    const found = talkgroups.tile(id);
    if (found === undefined) throw new Error(`no talkgroup ${id}`);
    return found;
  };
  return { talkgroups, tile, selected: () => talkgroups.selected.value.map(({ id }) => id).join() };
}

t.test('a finger that moves sideways swipes, and one that taps or scrolls does not', async (t) => {
  t.equal(swipeOf({ dx: -60, dy: 10 }), 1, 'to the left: the next one');
  t.equal(swipeOf({ dx: 60, dy: -10 }), -1);
  for (const moved of [
    { dx: 40, dy: 0 },
    { dx: 0, dy: 200 },
    { dx: 60, dy: 40 },
  ])
    t.equal(swipeOf(moved), 0, JSON.stringify(moved));
});

t.test('a phone always has a talkgroup to talk to, and the desk keeps its own selection', async (t) => {
  const { talkgroups, tile, selected } = talkgroupsOf('a', 'b', 'c');
  const isShown = signal(false);
  const isHeld = signal(false);
  const ring = createRing(talkgroups, { isHeld }, { favourites: signal([]), isShown });
  t.equal(selected(), '', 'the desk shows none as selected');
  isShown.value = true;
  t.equal(selected(), 'a');
  ring.choose(tile('c'));
  t.equal(selected(), 'c');
  t.equal(ring.next(1)?.id, 'a', 'after the last one comes the first one');
  t.equal(ring.next(-1)?.id, 'b');
  isHeld.value = true;
  ring.choose(tile('b'));
  t.equal(selected(), 'c', 'no change during a talk');
  isHeld.value = false;
  talkgroups.take({ talkgroups: [], left: ['c'] });
  t.equal(ring.current.value?.id, 'a', 'the user has left it');
  talkgroups.take({ talkgroups: [], left: ['a'] });
  t.equal(ring.next(1), null, 'there is no other one');
});

t.test(
  'a swipe goes through the favourites in their order, also from a talkgroup that is none',
  async (t) => {
    const { talkgroups, tile, selected } = talkgroupsOf('a', 'b', 'c', 'd');
    const favourites = signal(['c', 'left', 'a']);
    const ring = createRing(talkgroups, { isHeld: signal(false) }, { favourites, isShown: signal(true) });
    const ids = () => ring.places.value.map(({ id }) => id).join();
    t.equal(ids(), 'c,a', 'without one that the user has left');
    t.equal(selected(), 'a');
    t.equal(ring.next(1)?.id, 'c');
    ring.choose(tile('d'));
    t.equal(ring.next(1)?.id, 'c', 'to the first one');
    t.equal(ring.next(-1)?.id, 'a', 'to the last one');
    favourites.value = ['d'];
    t.equal(ring.next(1), null, 'the only favourite is shown');
    favourites.value = [];
    t.equal(ids(), 'a,b,c,d');
    t.equal(ring.next(1)?.id, 'a');
  },
);

t.test('the card shows the own talk, then the talker here, then one elsewhere that is heard', async (t) => {
  const { talkgroups, tile } = talkgroupsOf('a', 'b');
  const shown = () => {
    const heard = heardOf(talkgroups.tiles.value, tile('a'));
    return heard === null
      ? null
      : `${heard.talker.username} in ${heard.tile.id}, ${heard.more} more, ${heard.elsewhere} elsewhere`;
  };
  t.equal(shown(), null);
  talkgroups.take({ talkgroups: [view('b', [talker('ben'), talker('carl')])], left: [] });
  t.equal(shown(), 'ben in b, 1 more, 0 elsewhere');
  talkgroups.mute(tile('b'), true);
  t.equal(shown(), null, 'a muted talkgroup is not heard');
  talkgroups.take({ talkgroups: [view('a', [talker('dora')])], left: [] });
  t.equal(shown(), 'dora in a, 0 more, 0 elsewhere');
  talkgroups.mute(tile('b'), false);
  t.equal(shown(), 'dora in a, 0 more, 2 elsewhere');
  talkgroups.take({ talkgroups: [view('b', [talker('me', true)])], left: [] });
  t.equal(shown(), 'me in b, 0 more, 1 elsewhere');
});

t.test('an emergency can be taken back for 5 s', async (t) => {
  const clock = manualClock();
  const undo = createUndo(clock);
  undo.offer('a');
  clock.pass(UNDO_MS - 1);
  t.equal(undo.offered.value, 'a');
  undo.offer('b');
  clock.pass(UNDO_MS - 1);
  t.equal(undo.offered.value, 'b', 'each one has its own time');
  clock.pass(1);
  t.equal(undo.offered.value, null);
});

t.test('the screen is kept on once, also when the browser answers after the need is over', async (t) => {
  const calls: string[] = [];
  const answers: (() => void)[] = [];
  const isNeeded = signal(false);
  const isVisible = signal(true);
  const stop = keepAwake(isNeeded, isVisible, () => {
    calls.push('asked');
    return new Promise((resolve) =>
      answers.push(() => resolve({ release: async () => void calls.push('released') })),
    );
  });
  isNeeded.value = true;
  isNeeded.value = false;
  answers[0]?.();
  await turn();
  t.same(calls, ['asked', 'released']);
  isNeeded.value = true;
  answers[1]?.();
  isVisible.value = false;
  isVisible.value = true;
  await turn();
  t.same(calls.slice(2), ['asked', 'asked', 'released'], 'asked again after the page was hidden');
  stop();
});

t.test('a browser that keeps no screen on is asked again at the next need', async (t) => {
  let asked = 0;
  const isNeeded = signal(true);
  keepAwake(isNeeded, signal(true), async () => {
    asked += 1;
    throw new Error('the battery is low');
  });
  await turn();
  isNeeded.value = false;
  isNeeded.value = true;
  t.equal(asked, 2);
});

t.test('an absence is kept until the user has read it', async (t) => {
  const isVisible = signal(true);
  let nowMs = 10;
  const away = createAway(isVisible, () => nowMs);
  t.equal(away.absence.value, null);
  isVisible.value = false;
  nowMs = 50;
  isVisible.value = true;
  t.strictSame(away.absence.value, { fromMs: 10, untilMs: 50 });
  away.read();
  t.equal(away.absence.value, null);
});

function headsetOf() {
  const clock = manualClock();
  const handlers = new Map<string, (() => void) | null>();
  const sent: string[] = [];
  const tones: string[] = [];
  const played: string[] = [];
  const shown: (string | null)[] = [];
  const tone = (name: string) => void tones.push(name);
  const talking = createTalking(
    { send: ({ kind }) => sent.push(kind), tone, pressed: nothing, released: nothing },
    clock,
  );
  const isOn = signal(false);
  const isVisible = signal(true);
  const name: Signal<string | null> = signal(null);
  listenToHeadset({
    ...{ isOn, isVisible, talking, tone, clock, targets: () => ['a'] },
    session: { setActionHandler: (action, handler) => void handlers.set(action, handler) },
    talker: name,
    show: (talker) => void shown.push(talker),
    play() {
      played.push('play');
      return () => void played.push('stop');
    },
  });
  return { clock, handlers, sent, tones, played, shown, talking, isOn, isVisible, name };
}

t.test('the key of a headset begins and ends a talk, and each end has a tone', async (t) => {
  const { handlers, sent, tones, isOn, isVisible, clock, talking } = headsetOf();
  isOn.value = true;
  handlers.get('play')?.();
  t.same(sent, ['talk']);
  handlers.get('pause')?.();
  t.same(sent, ['talk', 'release']);
  t.same(tones, ['ended']);
  handlers.get('pause')?.();
  t.same(sent.slice(2), ['talk'], 'either key does both');
  clock.pass(HEADSET_MS - 1);
  t.equal(sent.length, 3);
  clock.pass(1);
  t.same(sent.slice(3), ['release'], 'a talk ends after 30 s');
  handlers.get('play')?.();
  talking.interrupt('hidden');
  await turn();
  handlers.get('play')?.();
  t.same(sent.slice(4), ['talk', 'release', 'talk'], 'a talk that was ended needs no second press');
  talking.take([
    { talkgroupId: 'a', state: { phase: 'refused', code: 'forbidden', talker: null, isFinal: true } },
  ]);
  await turn();
  t.same(sent.slice(7), ['release'], 'nor does one that was denied for good');
  isVisible.value = false;
  handlers.get('play')?.();
  t.same([sent.length, tones.at(-1)], [8, 'denied'], 'no talk from a locked phone');
});

t.test('a headset is left alone until it is switched on, and after it was switched off', async (t) => {
  const { handlers, played, shown, sent, isOn, name } = headsetOf();
  t.same([handlers.size, played.length, shown.length], [0, 0, 0]);
  isOn.value = true;
  name.value = 'ben02';
  handlers.get('play')?.();
  isOn.value = false;
  t.same(sent, ['talk', 'release']);
  t.same(played, ['play', 'stop']);
  t.same(shown, [null, 'ben02', null]);
  t.same([...handlers.values()], [null, null]);
});

t.test('the choices for a phone are off at first, and kept', async (t) => {
  const texts = new Map<string, string>();
  const shelf = {
    getItem: (key: string) => texts.get(key) ?? null,
    setItem: (key: string, text: string) => void texts.set(key, text),
  };
  const first = createPhoneChoices(shelf);
  t.same([first.keepsScreenOn.value, first.isHeadsetOn.value], [false, false]);
  first.change({ keepsScreenOn: true });
  const again = createPhoneChoices(shelf);
  t.same([again.keepsScreenOn.value, again.isHeadsetOn.value], [true, false]);
  texts.set([...texts.keys()][0] ?? '', '"what another version stored"');
  t.equal(createPhoneChoices(shelf).keepsScreenOn.value, false);
});
