// Which frames of a recording are missing, by its parts.
import fc from 'fast-check';
import t from 'tap';
import { type Frames, missingFrames } from '../../src/recordings/exporting/missing.js';

t.test('missing frames are counted from 1 in the recording, whatever piece of the burst it is', async (t) => {
  const cases: [Parameters<typeof missingFrames>[0], Frames[]][] = [
    [{ firstFrame: 1, frames: 3, parts: [[1, 3]] }, []],
    [{ firstFrame: 1, frames: 3, parts: [] }, [{ first: 1, frames: 3 }]],
    [{ firstFrame: 1, frames: null, parts: [] }, []],
    [{ firstFrame: 1, frames: 0, parts: [] }, []],
    [{ firstFrame: 1, frames: null, parts: [[3, 1]] }, [{ first: 1, frames: 2 }]],
    [
      {
        firstFrame: 30_001,
        frames: 10,
        parts: [
          [30_001, 4],
          [30_007, 2],
        ],
      },
      [
        { first: 5, frames: 2 },
        { first: 9, frames: 2 },
      ],
    ],
    [
      {
        firstFrame: 1,
        frames: 4,
        parts: [
          [4, 1],
          [1, 2],
        ],
      },
      [{ first: 3, frames: 1 }],
    ],
  ];
  for (const [given, missing] of cases) t.strictSame(missingFrames(given), missing, JSON.stringify(given));
});

t.test('each frame is either stored or missing', async (t) => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 50_000 }),
      fc.array(fc.tuple(fc.boolean(), fc.integer({ min: 1, max: 9 })), { maxLength: 20, size: 'max' }),
      (firstFrame, runs) => {
        let at = firstFrame;
        const all = runs.map(([isStored, frames]) => {
          at += frames;
          return { isStored, frames, from: at - frames };
        });
        const parts = all
          .filter(({ isStored }) => isStored)
          .map(({ from, frames }) => [from, frames] as const);
        const missing = missingFrames({ firstFrame, frames: at - firstFrame, parts });
        const left = new Set(Array.from({ length: at - firstFrame }, (_, index) => index + 1));
        for (const { first, frames } of missing)
          for (let frame = first; frame < first + frames; frame++) t.ok(left.delete(frame));
        const stored = parts.flatMap(([from, frames]) =>
          Array.from({ length: frames }, (_, n) => from - firstFrame + 1 + n),
        );
        return [...left].join() === stored.join();
      },
    ),
  );
});
