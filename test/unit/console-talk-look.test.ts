// The look of the talk key: total over all codes, the worst of several talks, and green only for the announced own burst.
import fc from 'fast-check';
import t from 'tap';
import { lookOf } from '../../src/console/talk/look.js';
import { createTalking, type Shown } from '../../src/console/talk/state.js';
import type { OverCode, RefusalCode, TalkState } from '../../src/console/worker/messages.js';
import { createPresses } from '../../src/console/worker/presses.js';
import { denials, ends, errors, revocations } from '../../src/protocol/codes.js';
import { ALPHA, fakeWorld, manualClock, OWN, packet, talkEnd, talkStart } from '../helpers/client/fakes.js';

const held = (...states: TalkState[]): Shown[] => states.map((state) => ({ state, isHeld: true }));
const asking = { phase: 'asking' } as const;
const queued = { phase: 'queued', position: 2, size: 3 } as const;
const talking = { phase: 'talking', sinceMs: 1_000, limitMs: 60_000 } as const;
const refused = { phase: 'refused', code: 'forbidden', talker: null, isFinal: true } as const;

const refusalCodes: readonly RefusalCode[] = [
  ...(Object.keys(errors) as (keyof typeof errors)[]),
  ...denials,
  ...(['not_connected', 'no_microphone', 'no_key', 'keys_behind'] as const),
];
const overCodes: readonly OverCode[] = [...revocations, ...ends, 'lost', 'unsent'];

t.test('each code has a word and a reason of at most 16 characters, and none is green', async (t) => {
  for (const isFinal of [true, false]) {
    for (const code of refusalCodes) {
      const { name, word, reason } = lookOf(held({ ...refused, code, isFinal }), 0);
      t.same([name, word], ['denied', 'Denied'], code);
      t.ok(reason !== null && reason.length > 0 && reason.length <= 16, `${code}: ${reason}`);
    }
    for (const code of overCodes) {
      const { name, word, reason } = lookOf(held({ phase: 'over', code, isFinal }), 0);
      t.same([name, word], ['denied', 'Cut off'], code);
      t.ok(reason !== null && reason.length > 0 && reason.length <= 16, `${code}: ${reason}`);
    }
  }
});

t.test('the name of a talker is shortened to the room of the key', async (t) => {
  const reason = (talker: string) => lookOf(held({ ...refused, code: 'busy', talker }), 0).reason;
  t.equal(reason('ben02'), 'ben02 talks');
  t.equal(reason('abcdefghij'), 'abcdefghij talks');
  t.equal(reason('abcdefghijk'), 'abcdefghi… talks');
  t.equal([...(reason('🚒'.repeat(64)) ?? '')].length, 16);
});

t.test('the key counts up, and down in the last 10 s', async (t) => {
  const word = (nowMs: number) => lookOf(held(talking), nowMs).word;
  t.equal(word(900), 'ON AIR 0:00', 'the clock of the page may be a tick behind');
  t.equal(word(13_500), 'ON AIR 0:12');
  t.equal(word(50_999), 'ON AIR 0:49');
  t.equal(word(51_000), 'ON AIR 10 s left');
  t.equal(word(53_000), 'ON AIR 8 s left');
  t.equal(word(99_000), 'ON AIR 0 s left');
  t.equal(lookOf(held(talking), 13_000).left, 0.8);
  const unlimited = lookOf(held({ ...talking, limitMs: 0 }), 13_500);
  t.same([unlimited.word, unlimited.left], ['ON AIR 0:12', null]);
});

t.test('several talks show the worst of them, and green only when all are on air', async (t) => {
  const look = (...states: TalkState[]) => {
    const { name, word, reason } = lookOf(held(...states), 13_500);
    return [name, word, reason];
  };
  t.same(look(), ['ready', null, null]);
  t.same(look(asking, asking), ['asking', 'Asking', null]);
  t.same(look(talking, queued), ['asking', 'On air in 1 of 2', null]);
  t.same(look(talking, talking), ['on-air', 'ON AIR 0:12', null]);
  t.same(look(talking, { ...talking, limitMs: 20_000 }), ['on-air', 'ON AIR 8 s left', null]);
  t.same(look(talking, refused, asking), ['denied', 'Denied in 1 of 3', null]);
  t.same(look(refused, refused), ['denied', 'Denied', 'admins only']);
});

t.test(
  'without a connection a key that is not held says so, and on air a silent microphone is named',
  async (t) => {
    const look = (isConnected: boolean, isSilent: boolean, ...states: TalkState[]) => {
      const { name, icon, word } = lookOf(held(...states), 13_500, { isConnected, isSilent });
      return [name, icon, word];
    };
    t.same(look(false, false), ['off', 'wifi-off', 'Not connected']);
    t.same(look(false, false, { ...refused, code: 'not_connected', isFinal: false })[0], 'denied');
    t.same(look(true, true, talking), ['on-air', 'radio', 'ON AIR, silent']);
    t.same(look(true, true, asking), ['asking', 'ellipsis', 'Asking'], 'green alone can be silent');
    t.same(look(true, true), ['ready', 'mic', null]);
  },
);

t.test('after the release only a denial and a cut stay on show, and not beside a held talk', async (t) => {
  const after = (state: TalkState, ...now: TalkState[]) =>
    lookOf([{ state, isHeld: false }, ...held(...now)], 2_000).name;
  t.same(
    [asking, queued, talking, refused].map((state) => after(state)),
    ['ready', 'ready', 'ready', 'denied'],
  );
  t.equal(after(refused, talking), 'on-air');
});

/** A console whose relay does what a history says. `isAnnounced`: the relay has announced the own burst, and not its end. */
function consoleOf() {
  const world = fakeWorld();
  const id = ALPHA.talkgroup_id;
  let record: ((packet: Uint8Array) => void) | null = null;
  let burst = 0;
  let isRunning = false;
  const presses = createPresses(
    world.radio,
    world.clock,
    () => world.clock.nowMs(),
    (view) => talk.take([view]),
  );
  const talk = createTalking(
    {
      send: ({ kind, talkgroupId }) =>
        kind === 'talk' ? presses.press(talkgroupId) : presses.release(talkgroupId),
      tone() {},
      pressed() {},
      released() {},
    },
    manualClock(),
  );
  world.radio.on('open', presses.opened);
  world.radio.on('waiting', presses.closed);
  presses.microphone({
    attach() {},
    start(onPacket) {
      record = onPacket;
    },
    stop() {
      record = null;
    },
    close() {},
  });
  world.socket().welcomes();
  const { socket } = world;
  const ended = (code: 'released' | 'silence' | 'preempted') => {
    if (!isRunning) return;
    isRunning = false;
    if (code === 'preempted') socket().says({ type: 'FLOOR_REVOKED', talkgroup_id: id, burst, code });
    socket().says(talkEnd({ session: OWN, burst, code }));
  };
  const acts: Readonly<Record<string, () => void>> = {
    press: () => talk.press('key', [id]),
    release() {
      talk.release('key');
      ended('released');
    },
    record: () => record?.(packet(1)),
    wait: () => world.clock.pass(1_000),
    grant() {
      const number = isRunning ? burst : burst + 1;
      socket().says({
        ...{ type: 'FLOOR_GRANTED', talkgroup_id: id, burst: number, priority: 1, max_talk_ms: 30_000 },
      });
    },
    queue: () =>
      socket().says({ type: 'FLOOR_QUEUED', talkgroup_id: id, ref: refOfLast(), position: 1, size: 2 }),
    start() {
      if (isRunning || record === null) return;
      burst += 1;
      isRunning = true;
      socket().says(talkStart({ session: OWN, burst }));
    },
    startOther: () => socket().says(talkStart({ session: 20, burst: 1 })),
    busy: () => socket().says({ type: 'FLOOR_DENIED', talkgroup_id: id, code: 'busy' }),
    forbid: () => socket().says({ type: 'FLOOR_DENIED', talkgroup_id: id, code: 'forbidden' }),
    silence: () => ended('silence'),
    preempt: () => ended('preempted'),
    cut() {
      isRunning = false;
      socket().closes(1006);
      world.clock.pass(20_000);
      socket().welcomes();
    },
  };
  return {
    acts,
    isAnnounced: () => isRunning,
    look: () => lookOf([...talk.shown.value.values()], world.clock.nowMs()).name,
  };

  function refOfLast(): string {
    return String(world.socket().texts.at(-1)?.ref ?? 'none');
  }
}

t.test('in 200 random histories the key is green only after TALK_STARTED of the own burst', async (t) => {
  let greens = 0;
  const names = Object.keys(consoleOf().acts);
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...names), { minLength: 5, maxLength: 40 }), (history) => {
      const { acts, isAnnounced, look } = consoleOf();
      acts.press?.();
      acts.record?.();
      for (const [index, name] of history.entries()) {
        acts[name]?.();
        if (look() !== 'on-air') continue;
        greens += 1;
        if (!isAnnounced()) throw new Error(`green after ${history.slice(0, index + 1)}`);
      }
    }),
    { numRuns: 200 },
  );
  t.ok(greens > 20, `green in ${greens} steps`);
});
