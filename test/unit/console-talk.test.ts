// The talk buttons and the talk key of the console: what is held, what ends it, which keys count, what is said.
import t from 'tap';
import { keyName, mayTalk, readKey } from '../../src/console/talk/keys.js';
import { createMicrophoneControl } from '../../src/console/talk/microphone.js';
import { createTalking } from '../../src/console/talk/state.js';
import { targetsOf } from '../../src/console/talk/targets.js';
import { sentenceOf } from '../../src/console/talk/words.js';
import type { TalkState } from '../../src/console/worker/messages.js';
import { manualClock, turn } from '../helpers/client/fakes.js';

function setUp() {
  const sent: string[] = [];
  const tones: string[] = [];
  const calls: string[] = [];
  const clock = manualClock();
  const talking = createTalking(
    {
      send: ({ kind, talkgroupId }) => sent.push(`${kind} ${talkgroupId}`),
      tone: (name) => tones.push(name),
      pressed: () => calls.push('pressed'),
      released: () => calls.push('released'),
    },
    clock,
  );
  return { talking, sent, tones, calls, clock };
}

t.test('each talkgroup is told once, however many buttons hold it', async (t) => {
  const { talking, sent, calls } = setUp();
  talking.press('pointer 1', ['a']);
  talking.press('talk key', ['a', 'b']);
  t.same(sent, ['talk a', 'talk b']);
  talking.release('talk key');
  t.same(sent.slice(2), ['release b'], 'the finger still holds the other one');
  talking.release('pointer 1');
  t.same(sent.slice(3), ['release a']);
  t.same(calls, ['pressed', 'pressed', 'released']);
  talking.release('pointer 1');
  t.equal(sent.length, 4);
});

t.test('an interruption ends every talk, says why, and later releases change nothing', async (t) => {
  const { talking, sent, tones } = setUp();
  talking.interrupt('blur');
  t.equal(talking.interruption.value, null, 'nothing was held');
  talking.press('pointer 1', ['a']);
  talking.press('talk key', ['b']);
  talking.interrupt('blur');
  t.same(sent.slice(2).sort(), ['release a', 'release b']);
  t.equal(talking.interruption.value, 'blur');
  t.equal(talking.isHeld.value, false);
  t.same(tones, ['ended']);
  talking.release('talk key');
  t.equal(sent.length, 4);
  talking.press('talk key', ['b']);
  t.equal(talking.interruption.value, null, 'the next press removes the message');
});

t.test('a press without a talkgroup says so and sounds, until it is released', async (t) => {
  const { talking, sent, tones } = setUp();
  talking.press('talk key', []);
  t.equal(talking.noTarget.value, 'selection');
  t.same([sent, tones], [[], ['denied']]);
  talking.release('talk key');
  t.equal(talking.noTarget.value, null);
});

t.test('a tone comes with the first permission, denial and end, and not with each attempt', async (t) => {
  const { talking, tones } = setUp();
  const refused = { phase: 'refused', code: 'retry_later', talker: null, isFinal: false } as const;
  talking.press('talk key', ['a']);
  talking.take([{ talkgroupId: 'a', state: refused }]);
  talking.take([{ talkgroupId: 'a', state: { ...refused } }]);
  t.same(tones, ['denied']);
  talking.take([{ talkgroupId: 'a', state: { phase: 'queued', position: 2, size: 2 } }]);
  talking.take([{ talkgroupId: 'a', state: { phase: 'queued', position: 1, size: 1 } }]);
  talking.take([{ talkgroupId: 'a', state: { phase: 'talking', sinceMs: 0, limitMs: 0 } }]);
  talking.take([{ talkgroupId: 'a', state: { phase: 'over', code: 'too_long', isFinal: true } }]);
  t.same(tones, ['denied', 'queued', 'permit', 'ended']);
  talking.release('talk key');
  talking.press('talk key', ['a']);
  talking.take([{ talkgroupId: 'a', state: { ...refused, code: 'forbidden', isFinal: true } }]);
  t.equal(tones.at(-1), 'denied_finally');
});

t.test('a tone comes when 10 s of the talk limit are left, unless the talk has ended', async (t) => {
  const { talking, tones, clock } = setUp();
  const talk = { phase: 'talking', sinceMs: 0, limitMs: 30_000 } as const;
  talking.press('talk key', ['a']);
  talking.take([{ talkgroupId: 'a', state: { ...talk } }]);
  clock.pass(19_999);
  t.same(tones, ['permit']);
  clock.pass(1);
  t.same(tones, ['permit', 'ending']);
  talking.release('talk key');
  talking.press('talk key', ['a']);
  talking.take([{ talkgroupId: 'a', state: { ...talk } }]);
  talking.release('talk key');
  talking.press('talk key', ['a']);
  talking.take([{ talkgroupId: 'a', state: { ...talk, limitMs: 5_000 } }]);
  clock.pass(60_000);
  t.same(tones.slice(2), ['permit', 'permit'], 'a limit below 10 s has no such tone');
});

t.test('a denied talk stays on show for 2 s after the release, and a new press ends that', async (t) => {
  const { talking, clock } = setUp();
  const refused = { phase: 'refused', code: 'forbidden', talker: null, isFinal: true } as const;
  const denied = () => {
    talking.press('pointer 1', ['a']);
    talking.take([{ talkgroupId: 'a', state: { ...refused } }]);
    talking.release('pointer 1');
  };
  denied();
  t.same([...talking.shown.value], [['a', { state: refused, isHeld: false }]]);
  t.equal(talking.isHeld.value, false);
  clock.pass(1_999);
  t.equal(talking.shown.value.size, 1);
  clock.pass(1);
  t.equal(talking.shown.value.size, 0);
  denied();
  clock.pass(1_000);
  talking.press('pointer 1', ['b']);
  t.same([...talking.shown.value], [['b', { state: { phase: 'asking' }, isHeld: true }]]);
  talking.release('pointer 1');
  denied();
  clock.pass(1_500);
  t.equal(talking.shown.value.size, 1, 'the time of an earlier release does not count');
});

t.test('a report that comes after the release is not shown', async (t) => {
  const { talking, tones } = setUp();
  talking.press('talk key', ['a']);
  talking.release('talk key');
  talking.take([{ talkgroupId: 'a', state: { phase: 'talking', sinceMs: 0, limitMs: 0 } }]);
  t.equal(talking.states.value.size, 0);
  t.same(tones, []);
});

const press = {
  ...{ code: 'Space', repeat: false, shiftKey: false },
  ...{ ctrlKey: false, altKey: false, metaKey: false },
};

t.test('the talk key talks, its repeats do nothing, and other keys are not ours', async (t) => {
  t.equal(readKey(press, 'Space', null), 'talk');
  t.equal(readKey({ ...press, repeat: true }, 'Space', null), 'repeat');
  t.equal(readKey({ ...press, code: 'KeyA' }, 'Space', null), 'other');
  t.equal(readKey({ ...press, ctrlKey: true }, 'Space', null), 'other');
  t.equal(readKey({ ...press, code: 'ControlRight', ctrlKey: true }, 'ControlRight', null), 'talk');
});

t.test('the talk key with Shift answers, unless Shift is the talk key', async (t) => {
  const shifted = { ...press, shiftKey: true };
  t.equal(readKey(shifted, 'Space', null), 'answer');
  t.equal(readKey({ ...shifted, code: 'F9' }, 'F9', null), 'answer');
  t.equal(readKey({ ...shifted, repeat: true }, 'Space', null), 'repeat');
  t.equal(readKey({ ...shifted, ctrlKey: true }, 'Space', null), 'other');
  t.equal(readKey(shifted, 'Space', { tagName: 'INPUT' }), 'other', 'a text field keeps it');
  t.equal(readKey({ ...shifted, code: 'ShiftRight' }, 'ShiftRight', null), 'talk');
});

t.test('text fields keep the keys that write, and buttons do not keep the space bar', async (t) => {
  for (const focused of [
    { tagName: 'INPUT', type: 'text' },
    { tagName: 'INPUT', type: 'password' },
    { tagName: 'INPUT', type: 'search' },
    { tagName: 'INPUT' },
    { tagName: 'textarea' },
    { tagName: 'SELECT' },
    { tagName: 'DIV', isContentEditable: true },
    { tagName: 'INPUT', type: 'checkbox' },
  ]) {
    t.equal(readKey(press, 'Space', focused), 'other', JSON.stringify(focused));
  }
  for (const focused of [{ tagName: 'BUTTON' }, { tagName: 'INPUT', type: 'range' }, { tagName: 'BODY' }]) {
    t.equal(readKey(press, 'Space', focused), 'talk', JSON.stringify(focused));
  }
  const field = { tagName: 'INPUT', type: 'text' };
  t.equal(
    readKey({ ...press, code: 'F9' }, 'F9', field),
    'talk',
    'a key that writes nothing talks from a field too',
  );
  t.equal(readKey({ ...press, code: 'KeyT' }, 'KeyT', field), 'other');
  t.equal(readKey({ ...press, code: 'KeyT' }, 'KeyT', { tagName: 'INPUT', type: 'checkbox' }), 'talk');
});

t.test('keys that operate the page cannot be the talk key, and each key has a name', async (t) => {
  t.same(['Space', 'F9', 'KeyT', 'ControlRight'].map(mayTalk), [true, true, true, true]);
  t.same(['Enter', 'Tab', 'Escape', 'ArrowUp', ''].map(mayTalk), [false, false, false, false, false]);
  t.same(['Space', 'F9', 'KeyT', 'Digit5', 'ControlRight'].map(keyName), [
    'Space',
    'F9',
    'T',
    '5',
    'Control Right',
  ]);
});

t.test(
  'the key talks to the selected talkgroups, else to the focused one, else to a single one',
  async (t) => {
    const all = ['a', 'b'];
    t.same(targetsOf({ selected: ['b'], focused: 'a', all }), ['b']);
    t.same(targetsOf({ selected: [], focused: 'a', all }), ['a']);
    t.same(targetsOf({ selected: [], focused: 'x', all }), []);
    t.same(targetsOf({ selected: [], focused: null, all }), []);
    t.same(targetsOf({ selected: [], focused: null, all: ['a'] }), ['a']);
  },
);

t.test('each state is said in words, with the seconds that are left', async (t) => {
  const text = (state: TalkState, nowMs = 0) => sentenceOf({ state, isHeld: true }, nowMs);
  const limited = { phase: 'talking', sinceMs: 1_000, limitMs: 60_000 } as const;
  t.equal(text(limited, 1_500), 'Talk now, 60 s left');
  t.equal(text(limited, 60_001), 'Talk now, 1 s left');
  t.equal(text(limited, 99_000), 'Talk now, 0 s left');
  t.equal(text({ ...limited, limitMs: 0 }), 'Talk now');
  t.equal(text({ phase: 'queued', position: 2, size: 3 }), 'Place 2 of 3 in the queue');
  const busy = { phase: 'refused', code: 'busy', talker: 'bob', isFinal: false } as const;
  t.equal(text(busy), 'bob has the floor. Trying again while you hold.');
  t.equal(sentenceOf({ state: busy, isHeld: false }, 0), 'bob has the floor.');
  t.equal(text({ ...busy, talker: null }), 'The floor is taken. Trying again while you hold.');
  const forbidden = { ...busy, code: 'forbidden', talker: null, isFinal: true } as const;
  t.equal(
    text(forbidden),
    'Only dispatchers and administrators may talk here. Not tried again while you hold.',
  );
  const over = { phase: 'over', code: 'too_long', isFinal: true } as const;
  t.equal(text(over), 'The talk limit is reached. Release, then press again.');
});

function microphoneOf(open: () => Promise<MessagePort>) {
  const log: string[] = [];
  const sound = {
    openMicrophone: open,
    closeMicrophone: () => log.push('close'),
    onMicrophoneLost: null as (() => void) | null,
    onMicrophoneLevel: null as ((peak: number) => void) | null,
    isMicrophoneReplaced: false,
  };
  const control = createMicrophoneControl(sound, {
    deviceId: () => 'headset',
    give: (port) => log.push(port === null ? 'none' : 'given'),
    lost: () => log.push('lost'),
  });
  return { control, sound, log };
}

type MessagePort = InstanceType<typeof globalThis.MessagePort>;
const { port1 } = new MessageChannel();
port1.close();

t.test('the microphone is asked for once, and its loss is told before it is taken away', async (t) => {
  let asked = 0;
  const { control, sound, log } = microphoneOf(async () => {
    asked += 1;
    return port1;
  });
  control.open();
  control.open();
  t.equal(control.state.value, 'asking');
  await turn();
  control.open();
  t.equal(asked, 1);
  t.same([control.state.value, log], ['open', ['given']]);
  sound.onMicrophoneLost?.();
  t.equal(control.state.value, 'lost');
  t.same(log.slice(1), ['close', 'lost', 'none']);
  control.open();
  await turn();
  t.equal(control.state.value, 'open');
});

t.test('a refused microphone says why, and a press asks again', async (t) => {
  const answers = [
    Promise.reject(Object.assign(new Error('no'), { reason: 'refused' })),
    Promise.resolve(port1),
  ];
  const { control } = microphoneOf(() => answers.shift() ?? Promise.reject(new Error('asked too often')));
  control.open();
  await turn();
  t.equal(control.state.value, 'refused');
  control.open();
  await turn();
  t.equal(control.state.value, 'open');
});

t.test('a microphone that was closed while the user was asked is not given to the worker', async (t) => {
  const { control, log } = microphoneOf(async () => port1);
  control.open();
  control.close();
  await turn();
  t.same([control.state.value, log], ['closed', ['close']]);
});
