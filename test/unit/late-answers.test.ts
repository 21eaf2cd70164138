// A session whose floor is decided elsewhere: what is heard and told when the answers come late, over generated histories.
import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { idOf, type Scene, type SceneRadio, sceneOf } from '../helpers/relay/answered-late.js';

const RADIOS = ['chief', 'bob', 'cat'];
const modes = fc.constantFrom('open', 'single', 'broadcast' as const);

type Act =
  | { readonly act: 'speaks'; readonly start: boolean; readonly end: boolean; readonly empty: boolean }
  | { readonly act: 'asks'; readonly priority: number; readonly queue: boolean }
  | { readonly act: 'gives up' | 'syncs' | 'listens' | 'talks again' | 'is answered' };

const acts: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      act: fc.constant('speaks' as const),
      start: fc.boolean(),
      end: fc.boolean(),
      empty: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      act: fc.constant('asks' as const),
      priority: fc.constantFrom(1, 5),
      queue: fc.boolean(),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      act: fc.constantFrom('gives up', 'syncs', 'listens', 'talks again', 'is answered' as const),
    }),
  },
);
/** What one radio does in one moment. Then time passes. */
const turns = fc.array(
  fc.record({
    radio: fc.nat(RADIOS.length - 1),
    acts: fc.array(acts, { minLength: 1, maxLength: 8 }),
    afterMs: fc.constantFrom(100, 400, 1100, 2100),
  }),
  { maxLength: 12 },
);

let refs = 0;

function does(scene: Scene, radio: SceneRadio, act: Act, talkgroup_id: string = idOf(1)): void {
  const ref = ++refs;
  switch (act.act) {
    case 'speaks':
      radio.speaks({ ...act, end: act.end || act.empty });
      return;
    case 'asks':
      return radio.says({
        type: 'FLOOR_REQUEST',
        talkgroup_id,
        priority: act.priority,
        queue: act.queue,
        ref,
      });
    case 'gives up':
      return radio.says({ type: 'FLOOR_RELEASE', talkgroup_id, ref });
    case 'syncs':
      return radio.says({ type: 'SYNC', talkgroup_id, ref });
    case 'listens':
      return radio.says({ type: 'SUBSCRIBE', talkgroup_ids: [talkgroup_id], mode: 'listen', ref });
    case 'talks again':
      return radio.says({ type: 'SUBSCRIBE', talkgroup_ids: [talkgroup_id], ref });
    case 'is answered':
      scene.answer();
  }
}

type Turns = typeof turns extends fc.Arbitrary<infer T> ? T : never;

/** What each radio and a listener hear, in their order, after each turn. */
async function played(mode: 'open' | 'single' | 'broadcast', history: Turns, isLate: boolean) {
  refs = 0;
  const scene = sceneOf({ isLate, mode });
  const radios: SceneRadio[] = [];
  for (const name of [...RADIOS, 'ear']) radios.push(await scene.radio(name));
  const heard: unknown[] = [];
  for (const { radio, acts, afterMs } of history) {
    const talker = radios[radio];
    assert(talker);
    for (const act of acts) does(scene, talker, act);
    scene.answerAll();
    heard.push(
      radios.map((one) => one.heard()),
      radios.map((one) => one.talk()?.claim ?? 'none'),
    );
    await scene.pass(afterMs);
  }
  const { framesIn, framesRelayed, dropped } = scene.frames();
  const sum = Object.values(dropped).reduce((all, count) => all + count, framesRelayed);
  assert.equal(sum, framesIn, 'each frame is relayed or counted');
  assert.equal(dropped.unanswered, 0);
  assert.deepEqual(scene.failed, []);
  await scene.relay.close();
  return heard;
}

t.test('late answers change neither what is heard nor what is told, nor its order', async (t) => {
  await fc.assert(
    fc.asyncProperty(modes, turns, async (mode, history) => {
      const now = await played(mode, history, false);
      assert.deepEqual(await played(mode, history, true), now);
    }),
    { numRuns: 150 },
  );
  t.pass('for any history');
});

type Deed =
  | Act
  | {
      readonly act:
        | 'breaks'
        | 'returns'
        | 'raises'
        | 'is denied for now'
        | 'mode changes'
        | 'time passes'
        | 'waits';
    };

const deeds = fc.array(
  fc.tuple(
    fc.oneof(
      { weight: 4, arbitrary: acts },
      {
        weight: 1,
        arbitrary: fc.record({
          act: fc.constantFrom(
            ...(['breaks', 'returns', 'raises', 'is denied for now', 'mode changes', 'time passes'] as const),
          ),
        }),
      },
      { weight: 1, arbitrary: fc.record({ act: fc.constant('waits' as const) }) },
    ) as fc.Arbitrary<Deed>,
    fc.nat(RADIOS.length - 1),
  ),
  { maxLength: 50 },
);

/** What a listener may rely on: each burst is announced, has its frames in order and the first with START, and ends. */
function checkHeard(heard: ReturnType<SceneRadio['heard']>): void {
  const running = new Map<string, { frames: number; last: number }>();
  for (const one of heard) {
    const name = `${'sender' in one ? one.sender : one.session}/${one.burst}`;
    if (one.type === 'TALK_STARTED') {
      assert(!running.has(name), `${name} is announced once`);
      running.set(name, { frames: 0, last: 0 });
    } else if (one.type === 'frame') {
      const burst = running.get(name);
      assert(burst, `a frame of ${name} outside its burst`);
      const { text, start } = one as { text: string; start: boolean };
      if (burst.frames === 0) assert(start, 'the first frame has START');
      assert(text === '' || Number(text) > burst.last, 'in order');
      burst.frames++;
      burst.last = Number(text) || burst.last;
    } else if (one.type === 'TALK_ENDED') {
      const burst = running.get(name);
      assert.equal(burst?.frames, 'frames' in one ? one.frames : null, `the frames of ${name}`);
      running.delete(name);
    }
  }
  assert.equal(running.size, 0, 'a burst without an end');
}

t.test('between question and answer nothing is lost silently, and nothing is left at the end', async (t) => {
  await fc.assert(
    fc.asyncProperty(modes, deeds, async (mode, history) => {
      refs = 0;
      const scene = sceneOf({ isLate: true, mode });
      const radios: SceneRadio[] = [];
      for (const name of RADIOS) radios.push(await scene.radio(name));
      const ear = await scene.radio('ear');
      const answers: string[] = [];
      let now = mode;
      for (const [deed, index] of history) {
        const radio = radios[index];
        assert(radio);
        const { act } = deed;
        if (act === 'breaks') radio.breaks();
        else if (act === 'returns') await radio.returns();
        else if (act === 'is denied for now') scene.giveUp(500);
        else if (act === 'time passes') await scene.pass(1700);
        else if (act === 'waits') scene.wait(60);
        else if (act === 'mode changes') {
          now = now === 'open' ? 'single' : 'open';
          await scene.setMode(now);
        } else if (act === 'raises') {
          if (radio.session.isLive) radio.says({ type: 'EMERGENCY_RAISE', talkgroup_id: idOf(1) });
        } else if (radio.session.isLive || act === 'is answered') does(scene, radio, deed as Act);
        const talking = radios.filter((one) => one.talk()?.claim === 'talks').length;
        assert.equal(scene.relay.figures().present.bursts, talking);
        const asking = radios.filter((one) => (one.talk()?.ask ?? null) !== null).length;
        assert.equal(asking, scene.open(), 'each question is known to both sides');
      }
      scene.answerAll();
      for (const radio of radios) {
        assert.equal(radio.talk()?.ask ?? null, null);
        answers.push(...radio.heard().flatMap((one) => ('ref' in one ? [String(one.ref)] : [])));
        if (!radio.session.isLive) await radio.returns();
        radio.closes();
      }
      await scene.pass(5000);
      checkHeard(ear.heard());
      assert.equal(new Set(answers).size, answers.length, 'an answer came twice');
      assert.equal(scene.relay.figures().present.bursts, 0);
      assert.equal(scene.open(), 0);
      const { framesIn, framesRelayed, dropped } = scene.frames();
      assert.equal(
        Object.values(dropped).reduce((all, count) => all + count, framesRelayed),
        framesIn,
      );
      assert.deepEqual(scene.failed, []);
      await scene.relay.close();
    }),
    { numRuns: 200 },
  );
  t.pass('for any history');
});

/** A talker and a listener in talkgroups of the mode `single`, answered when told. */
async function pair() {
  const scene = sceneOf({ isLate: true });
  const ann = await scene.radio('ann');
  const ear = await scene.radio('ear');
  ann.heard();
  ear.heard();
  return {
    ...scene,
    ann,
    ear,
    /** Types, codes and texts that the radio heard. */
    words: (radio: SceneRadio) =>
      radio
        .heard()
        .map((one) =>
          [one.type, 'code' in one ? one.code : '', 'text' in one ? one.text : ''].join(' ').trim(),
        ),
  };
}

t.test(
  'the last 200 ms and 24 frames wait, older ones are dropped and counted, and END is kept',
  async (t) => {
    const { ann, ear, wait, answer, frames, words, relay } = await pair();
    t.teardown(() => relay.close());
    ann.speaks({ start: true });
    for (let frame = 2; frame <= 20; frame++) {
      wait(20);
      ann.speaks({ end: frame === 20 });
    }
    t.equal(frames().dropped.unanswered, 9, '11 frames in 200 ms');
    wait(400);
    answer();
    const heard = ear.heard();
    t.same(
      heard.flatMap((one) => ('text' in one ? [[one.text, one.start, one.end]] : [])),
      Array.from({ length: 11 }, (_, index) => [`${10 + index}`, index === 0, index === 10]),
    );
    t.match(heard.at(-1), { type: 'TALK_ENDED', code: 'released', frames: 11 });
    for (let frame = 0; frame < 60; frame++) ann.speaks({ start: frame === 0 });
    t.equal(frames().dropped.unanswered, 9 + 60 - 24, 'at one moment');
    answer();
    t.equal(words(ear).filter((word) => word.startsWith('frame')).length, 24);
  },
);

t.test('retry_later mutes for its time, and a key that is still held then asks again', async (t) => {
  const { ann, wait, giveUp, answer, open, frames, words, relay } = await pair();
  t.teardown(() => relay.close());
  ann.speaks({ start: true });
  ann.speaks();
  giveUp(500);
  t.match(ann.heard(), [{ type: 'FLOOR_DENIED', code: 'retry_later', retry_ms: 500 }]);
  t.equal(frames().dropped.unanswered, 2);
  wait(499);
  ann.speaks();
  ann.speaks({ start: true });
  t.equal(open(), 0, 'muted, START or not');
  t.equal(frames().dropped.muted, 2);
  ann.says({ type: 'FLOOR_REQUEST', talkgroup_id: idOf(1), ref: 1 });
  t.match(ann.heard(), [{ type: 'FLOOR_DENIED', code: 'retry_later', retry_ms: 1, ref: 1 }]);
  wait(1);
  ann.speaks();
  t.equal(open(), 1, 'without START');
  answer();
  t.same(words(ann), ['FLOOR_GRANTED', 'TALK_STARTED']);
});

t.test('each press that waits has an answer of its own', async (t) => {
  const { ann, giveUp, answer, answerAll, words, relay } = await pair();
  t.teardown(() => relay.close());
  for (let press = 0; press < 3; press++) ann.speaks({ start: true, end: press === 1 });
  giveUp(0);
  t.same(words(ann), Array(3).fill('FLOOR_DENIED retry_later'));
  for (let press = 0; press < 3; press++) ann.speaks({ start: true });
  answerAll();
  t.same(words(ann), [
    'FLOOR_GRANTED',
    'TALK_STARTED',
    'TALK_ENDED released',
    'FLOOR_GRANTED',
    'TALK_STARTED',
    'TALK_ENDED released',
    'FLOOR_GRANTED',
    'TALK_STARTED',
  ]);
  answer();
});

t.test('a press of which no frame was kept is a burst of 0 frames, before the next one', async (t) => {
  const { ann, wait, answerAll, frames, words, relay } = await pair();
  t.teardown(() => relay.close());
  for (const press of [5, 10])
    for (let frame = 0; frame < press; frame++) {
      ann.speaks({ start: frame === 0, end: press === 5 && frame === 4 });
      wait(40);
    }
  t.equal(frames().dropped.unanswered, 9, 'the first press, and of the second what is older than 200 ms');
  answerAll();
  const press = ['FLOOR_GRANTED', 'TALK_STARTED', 'TALK_ENDED released'];
  t.same(words(ann), [...press, ...press.slice(0, 2)]);
});

t.test('eight texts about a talkgroup wait there, and those of other talkgroups do not', async (t) => {
  const { ann, answerAll, relay } = await pair();
  t.teardown(() => relay.close());
  ann.says({ type: 'FLOOR_REQUEST', talkgroup_id: idOf(1), ref: 'asked' });
  ann.says({ type: 'UNSUBSCRIBE', talkgroup_ids: [idOf(2), idOf(1)], ref: 0 });
  for (let ref = 1; ref < 9; ref++) ann.says({ type: 'FLOOR_RELEASE', talkgroup_id: idOf(1), ref });
  t.match(ann.heard(), [{ type: 'ERROR', code: 'rate_limited', ref: 8 }]);
  ann.says({ type: 'SYNC', talkgroup_id: idOf(2), ref: 'other' });
  ann.says({ type: 'EMERGENCY_RAISE', talkgroup_id: idOf(1), ref: 'urgent' });
  t.same(
    ann.heard().flatMap((one) => ('ref' in one ? [one.ref] : [])),
    ['other', 'urgent'],
  );
  answerAll();
  const answered = ann.heard().flatMap((one) => ('ref' in one ? [[one.ref, one.type]] : []));
  const refused = Array.from({ length: 7 }, (_, index) => [index + 1, 'ERROR']);
  t.same(answered, [['asked', 'FLOOR_GRANTED'], [0, 'OK'], ...refused]);
});

for (const doubted of [1, 2])
  t.test(
    `a membership that ends answers the question first, in doubt before or not: ${doubted}`,
    async (t) => {
      const { ann, ear, open, frames, words, relay } = await pair();
      t.teardown(() => relay.close());
      ann.speaks({ start: true });
      ann.speaks();
      ann.says({ type: 'FLOOR_REQUEST', talkgroup_id: idOf(1), ref: 1 });
      await ann.leavesTalkgroups(doubted);
      await new Promise((resolve) => setImmediate(resolve));
      t.equal(open(), 0);
      t.equal(frames().dropped.unanswered, 2);
      const told = words(ann).filter((word, index, all) => word !== all[index - 1]);
      t.same(
        told,
        doubted === 1
          ? ['FLOOR_DENIED retry_later', 'TALKGROUP_LEFT']
          : ['FLOOR_DENIED retry_later', 'TALKGROUP_LEFT', 'FLOOR_DENIED not_member'],
      );
      t.notOk(words(ear).some((word) => word.startsWith('TALK')));
    },
  );

t.test('a session that closes answers the question first', async (t) => {
  const { ann, open, frames, words, relay } = await pair();
  ann.speaks({ start: true });
  await relay.close();
  t.same(words(ann), ['GOAWAY', 'FLOOR_DENIED retry_later']);
  t.equal(open(), 0);
  t.equal(frames().dropped.unanswered, 1);
});

t.test('the question outlives the socket, with what waits behind it', async (t) => {
  const { ann, ear, answer, pass, words, relay } = await pair();
  t.teardown(() => relay.close());
  ann.speaks({ start: true });
  ann.speaks();
  ann.breaks();
  await ann.returns();
  ann.speaks();
  answer();
  t.same(words(ear), ['TALK_STARTED', 'frame  1', 'frame  2', 'frame  3'], 'answered at the return');
  ann.speaks({ end: true });
  words(ear);
  ann.speaks({ start: true });
  ann.breaks();
  answer();
  t.same(words(ear), ['TALK_STARTED', 'frame  5'], 'answered while it is away');
  await pass(1499);
  t.same(words(ear), []);
  await pass(100);
  t.same(words(ear), ['TALK_ENDED disconnected'], 'its floor is kept as for any other');
});

t.test('a denial that no socket hears does not mute', async (t) => {
  const { ann, ear, answer, open, relay } = await pair();
  t.teardown(() => relay.close());
  ear.speaks({ start: true });
  answer();
  ann.speaks({ start: true });
  ann.breaks();
  answer();
  await ann.returns();
  ann.speaks();
  t.equal(open(), 1, 'its key is still held');
});

t.test('questions count among the eight talkgroups, and a start counts once', async (t) => {
  const { ann, answerAll, wait, words, relay } = await pair();
  t.teardown(() => relay.close());
  for (let talkgroup = 1; talkgroup <= 9; talkgroup++) ann.speaks({ talkgroup, start: true });
  t.same(words(ann), ['ERROR too_many_talkgroups']);
  answerAll();
  for (let talkgroup = 1; talkgroup <= 8; talkgroup++) ann.speaks({ talkgroup, end: true });
  words(ann);
  for (let burst = 2; burst <= 8; burst++) {
    wait(100);
    ann.speaks({ start: true, end: true });
    answerAll();
  }
  t.notOk(words(ann).includes('ERROR rate_limited'), 'eight starts');
  ann.speaks({ start: true });
  t.same(words(ann), ['ERROR rate_limited'], 'the ninth');
});

t.test('T1 runs from the answer on', async (t) => {
  const { ann, ear, answer, pass, words, relay } = await pair();
  t.teardown(() => relay.close());
  ann.speaks({ start: true });
  await pass(3000);
  answer();
  await pass(1900);
  t.same(words(ear), ['TALK_STARTED', 'frame  1']);
  await pass(100);
  t.same(words(ear), ['TALK_ENDED silence']);
});
