// How the relay judges epochs, and bursts that are encrypted or clear, with a clock that the test controls.
import fc from 'fast-check';
import t from 'tap';
import type { Crypto } from '../../src/protocol/bodies.js';
import { encryptions } from '../../src/protocol/codes.js';
import { ENCRYPTED, START } from '../../src/protocol/frame.js';
import { expectedOf, fits, judgeBurst, misfitOf } from '../../src/relay/members/crypto.js';
import { Epochs } from '../../src/relay/members/epochs.js';

const crypto = (epoch: number): Crypto => ({ suite: 4, epoch, salt: 'oKGio6SlpqeoqaqrrK2urw' });

t.test('a new epoch is used when its time has come, and the one before is stale 5 s later', async (t) => {
  const epochs = new Epochs(8);
  t.same([epochs.talkCounter(0), epochs.useInMs(0), epochs.judge(9, 0)], [8, 0, 'ahead']);
  epochs.set(9, [[9, 10_000]], 0);
  t.same([epochs.talkCounter(0), epochs.useInMs(0)], [8, 10_000]);
  t.same([epochs.talkCounter(9999), epochs.useInMs(9999)], [8, 1]);
  t.same([epochs.talkCounter(10_000), epochs.useInMs(10_000)], [9, 0]);
  t.same(
    [epochs.judge(9, 0), epochs.judge(8, 14_999), epochs.judge(8, 15_000)],
    ['accepted', 'accepted', 'stale'],
  );
  t.equal(epochs.judge(7, 0), 'stale', 'its successor was in use long ago');
});

t.test('at most 8 epochs are accepted, however many are announced', async (t) => {
  const epochs = new Epochs(0);
  const rows = Array.from({ length: 8 }, (_, index) => [20 - index, 10_000] as const);
  epochs.set(20, rows, 0);
  t.equal(epochs.talkCounter(0), 13, 'it is one of them');
  const accepted = Array.from({ length: 30 }, (_, epoch) => epoch).filter(
    (epoch) => epochs.judge(epoch, 0) === 'accepted',
  );
  t.same(accepted, [13, 14, 15, 16, 17, 18, 19, 20]);
});

t.test('the epoch to talk with is always accepted, and only grows', async () => {
  fc.assert(
    fc.property(
      fc.nat(300),
      fc.array(fc.integer({ min: 0, max: 20_000 }), { minLength: 1, maxLength: 12 }),
      fc.array(fc.nat(40_000), { minLength: 2, maxLength: 10 }),
      (before, steps, times) => {
        const epochs = new Epochs(before);
        const useAt = (index: number) => steps.slice(0, index + 1).reduce((sum, step) => sum + step, 0);
        const rows = steps.map((_, index) => [before + 1 + index, useAt(index)] as const);
        epochs.set(before + steps.length, [...rows].reverse(), 0);
        let last = before;
        for (const at of times.sort((a, b) => a - b)) {
          const counter = epochs.talkCounter(at);
          if (counter < last || epochs.judge(counter, at) !== 'accepted') return false;
          if ((counter === epochs.counter) !== (epochs.useInMs(at) === 0)) return false;
          last = counter;
        }
        return true;
      },
    ),
  );
});

t.test('a frame fits its burst by ENCRYPTED and the epoch byte alone', async () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...encryptions),
      fc.option(fc.constantFrom(255, 256, 265, 9)),
      fc.nat(0xff),
      fc.nat(0xff),
      (encryption, epoch, flags, byte) => {
        const announced = epoch === null ? null : crypto(epoch);
        const isEncrypted = (flags & ENCRYPTED) !== 0;
        const isFit = fits((flags << 8) | byte, expectedOf(encryption, announced));
        if (announced !== null) return isFit === (isEncrypted && byte === announced.epoch % 256);
        return isFit === (encryption === 'allowed' || !isEncrypted);
      },
    ),
  );
});

t.test('a burst may begin or not by mode, announcement, keys, emergency and epoch', async (t) => {
  const judge = (over: Partial<Parameters<typeof judgeBurst>[0]>) =>
    judgeBurst({
      encryption: 'required',
      crypto: crypto(1),
      epoch: 'accepted',
      mayHaveKeys: true,
      mayBeClear: false,
      ...over,
    });
  t.equal(judge({}), null);
  t.equal(judge({ crypto: null }), 'encryption_required');
  t.equal(judge({ crypto: null, mayBeClear: true }), null);
  t.equal(judge({ crypto: null, mayBeClear: true, mayHaveKeys: false }), null, 'a life before a cipher');
  t.equal(judge({ crypto: null, mayHaveKeys: false }), 'keys_forbidden');
  t.equal(judge({ mayHaveKeys: false }), 'keys_forbidden');
  t.equal(judge({ epoch: 'stale' }), 'stale_epoch');
  t.equal(judge({ epoch: 'ahead' }), 'stale_epoch');
  t.equal(judge({ encryption: 'off' }), 'encryption_off');
  t.equal(judge({ encryption: 'off', crypto: null, mayHaveKeys: false }), null);
  t.equal(judge({ encryption: 'allowed', mayHaveKeys: false }), null);
  t.equal(judge({ encryption: 'allowed', epoch: 'stale' }), 'stale_epoch');
  t.equal(judge({ encryption: 'allowed', crypto: null, mayHaveKeys: false }), null);
  t.equal(misfitOf(START << 8, 'required'), 'encryption_required');
  t.equal(misfitOf(ENCRYPTED << 8, 'required'), 'encryption_unannounced');
  t.equal(misfitOf(ENCRYPTED << 8, 'off'), 'encryption_off');
});
