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
