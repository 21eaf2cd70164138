// The level of the microphone, the bars of its meter, and how the console finds out that the user talks without sound.
import { signal } from '@preact/signals';
import fc from 'fast-check';
import t from 'tap';
import { barsOf, createPeaks, dbfsOf, SILENT_DBFS, silentBars } from '../../src/client/sound/level.js';
import { followSilence, SILENT_MS } from '../../src/console/talk/silence.js';
import type { TalkState } from '../../src/console/worker/messages.js';
import { manualClock } from '../helpers/client/fakes.js';

t.test('each 100 ms give their peak once, whatever the size of the pieces', async (t) => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 40, maxLength: 80 }), (sizes) => {
      const take = createPeaks(1_000);
      let [count, loudest] = [0, 0];
      for (const [index, size] of sizes.entries()) {
        const samples = new Float32Array(size).fill(index % 2 === 0 ? -index / 100 : index / 200);
        count += size;
        loudest = Math.max(loudest, Math.fround(Math.abs(samples[0] ?? 0)));
        const peak = take(samples);
        if (count < 100 ? peak !== null : peak !== loudest) return false;
        if (peak !== null) [count, loudest] = [0, 0];
      }
      return true;
    }),
  );
  t.equal(createPeaks(48_000)(new Float32Array(4_799)), null, '4,800 samples are 100 ms');
});

t.test('a meter lights no bar in silence, all at full scale, and never less for more', async (t) => {
  t.equal(barsOf(0, 8), 0);
  t.equal(barsOf(1, 8), 8);
  t.equal(barsOf(2, 8), 8, 'a sample above full scale');
  t.equal(dbfsOf(0.001).toFixed(6), '-60.000000');
  t.equal(silentBars(18).toFixed(6), '3.000000', 'three bars of 4 dB are below the mark');
  t.equal(barsOf(0.00099, 18), 3);
  t.equal(barsOf(0.00101, 18), 4, 'what is heard passes the mark');
  const peak = fc.double({ min: 0, max: 1, noNaN: true });
  fc.assert(
    fc.property(
      peak,
      peak,
      (one, other) => barsOf(Math.min(one, other), 8) <= barsOf(Math.max(one, other), 8),
    ),
  );
});

function talkOf() {
  const clock = manualClock();
  const level = signal(0);
  const states = signal<ReadonlyMap<string, TalkState>>(new Map());
  const isSilent = signal(false);
  followSilence({ level, states, isSilent }, clock);
  const enter = (phase: 'asking' | 'talking' | 'none') => {
    const state =
      phase === 'talking' ? ({ phase, sinceMs: 0, limitMs: 0 } as const) : { phase: 'asking' as const };
    states.value = phase === 'none' ? new Map() : new Map([['a', state]]);
  };
  return { clock, level, isSilent, enter };
}

t.test(`a talk without sound for ${SILENT_MS} ms is silent until the sound returns`, async (t) => {
  const { clock, level, isSilent, enter } = talkOf();
  enter('talking');
  clock.pass(SILENT_MS - 1);
  t.equal(isSilent.value, false);
  clock.pass(1);
  t.equal(isSilent.value, true);
  level.value = 10 ** (SILENT_DBFS / 20) * 1.01;
  t.equal(isSilent.value, false);
  level.value = 0.0009;
  clock.pass(SILENT_MS);
  t.equal(isSilent.value, true);
  enter('none');
  t.equal(isSilent.value, false, 'the talk has ended');
});

t.test('pauses between words and a key that only asks are not silent', async (t) => {
  const { clock, level, isSilent, enter } = talkOf();
  enter('asking');
  clock.pass(2 * SILENT_MS);
  t.equal(isSilent.value, false);
  enter('talking');
  for (let word = 0; word < 5; word += 1) {
    clock.pass(SILENT_MS - 100);
    level.value = 0.5;
    level.value = 0;
  }
  t.equal(isSilent.value, false);
});
