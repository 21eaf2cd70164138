// Encrypted recordings in the client: the key of one burst opens its frames, and nothing else does.
import t from 'tap';
import {
  createHolderKey,
  envelopeSuite,
  type Holder,
  openRecordingKey,
} from '../../src/client/encryption/holder.js';
import { type EncryptedRecording, recordingKeysWith } from '../../src/client/encryption/recorded.js';
import { RestError } from '../../src/client/rest.js';
import {
  ACCEPTANCE_INFO,
  burstKey,
  ENVELOPE_INFO,
  fromBase64url,
  RECORDING_INFO,
  recordingAad,
  toBase64url,
} from '../../src/protocol/encryption.js';
import { decodeFrame, ENCRYPTED, END, type Frame } from '../../src/protocol/frame.js';
import { nodePrimitives } from '../../src/protocol/node-primitives.js';
import { recordingIdOf } from '../../src/protocol/recording-id.js';
import { halves, runOf, secretOf, stamp } from '../helpers/client/encryption.js';
import { ALPHA, idOf } from '../helpers/client/fakes.js';

const recordingId = recordingIdOf({ startedAt: 1_764_000_000_000, session: 20, burst: 1, piece: 0 });
const newHolder = async (): Promise<Holder> => ({ ...(await createHolderKey()), holderId: idOf('holder') });

/** A run of another user in Alpha as it is stored, with this speech, and its key. */
function recordedRun(texts: readonly string[], { counter = 9, userId = idOf('u-other') } = {}) {
  const run = runOf(counter, userId);
  const salt = fromBase64url(run.crypto.salt) ?? new Uint8Array();
  const secret = secretOf(counter);
  const key = burstKey(nodePrimitives, {
    ...{ secret, salt, talkgroupId: ALPHA.talkgroup_id },
    userId,
    counter,
  });
  const frames = texts.map((text, sequence) => {
    const flags = sequence === texts.length - 1 ? END : 0;
    const bytes = run.seal({ flags, talkgroup: ALPHA.number, sequence, payload: Buffer.from(text) });
    stamp(bytes, 20, 1);
    return decodeFrame(bytes, 1024) as Frame;
  });
  return { key, frames, recording: { recording_id: recordingId, crypto: run.crypto } };
}

async function sealedFor(
  holder: Holder,
  key: Uint8Array,
  { id = recordingId, holderId = holder.holderId, info = RECORDING_INFO } = {},
) {
  const aad = recordingAad({ recordingId: id, holderId });
  const letter = await envelopeSuite.Seal(holder.pair.publicKey, key, { info, aad });
  return { enc: letter.encapsulatedSecret, sealed: letter.ciphertext };
}

/** Keys of a service that gives this answer. */
async function keysWith(answer: (holder: Holder) => object | Promise<object>, primitives = nodePrimitives) {
  const holder = await newHolder();
  const asked: string[] = [];
  const get = async <T>(path: string) => {
    asked.push(path);
    return (await answer(holder)) as T;
  };
  return { asked, holder, ...recordingKeysWith(primitives, { rest: { get }, holder }) };
}

const givenKey =
  (key: Uint8Array, options = {}) =>
  async (holder: Holder) => {
    const { enc, sealed } = await sealedFor(holder, key, options);
    return { recording_id: recordingId, enc: toBase64url(enc), sealed: toBase64url(sealed) };
  };

const textsOf = (opened: readonly (Uint8Array | string)[]) =>
  opened.map((one) => (typeof one === 'string' ? `(${one})` : Buffer.from(one).toString()));

t.test('a recording opens with the key of its burst, END included, by both halves', async (t) => {
  const texts = ['one', 'two', 'three', ''];
  for (const [half, primitives] of Object.entries(halves)) {
    const { key, frames, recording } = recordedRun(texts, { counter: 70_000 });
    const { opener, asked, holder } = await keysWith(givenKey(key), primitives);
    const open = await opener(recording);
    t.strictSame(textsOf(frames.map(open)), texts, half);
    t.strictSame(asked, [`/recordings/${recordingId}/key?holder_id=${holder.holderId}`]);
    const again = await opener(recording);
    t.strictSame(textsOf(frames.map(again)), texts, 'as often as the user hears it');
  }
});

t.test('an envelope of another recording, holder or purpose opens nothing', async (t) => {
  const { key, frames, recording } = recordedRun(['one']);
  const other = recordingIdOf({ startedAt: 1_764_000_000_000, session: 20, burst: 1, piece: 1 });
  for (const [name, options] of Object.entries({
    recording: { id: other },
    holder: { holderId: idOf('other') },
    epoch: { info: ENVELOPE_INFO },
    acceptance: { info: ACCEPTANCE_INFO },
  })) {
    const { opener } = await keysWith(givenKey(key, options));
    t.strictSame(textsOf(frames.map(await opener(recording))), ['(no_key)'], name);
  }
  const foreign = await newHolder();
  const { opener } = await keysWith(() => givenKey(key)(foreign));
  t.strictSame(textsOf(frames.map(await opener(recording))), ['(no_key)'], 'the key of another device');
  const letter = await sealedFor(foreign, key.subarray(1));
  t.equal(await openRecordingKey(foreign, { ...letter, recordingId }), null, '31 bytes');
});

t.test('an answer without a key, and one of an intermediary, open nothing', async (t) => {
  const { frames, recording } = recordedRun(['one']);
  for (const answer of [
    {},
    { enc: 1, sealed: null },
    { enc: '*', sealed: '*' },
    { enc: 'AA', sealed: 'AA' },
  ]) {
    const { opener } = await keysWith(() => answer);
    t.strictSame(textsOf(frames.map(await opener(recording))), ['(no_key)'], JSON.stringify(answer));
  }
  for (const status of [404, 410]) {
    const { opener } = await keysWith(() => Promise.reject(new RestError(status, 'no key')));
    t.strictSame(textsOf(frames.map(await opener(recording))), ['(no_key)'], `${status}`);
  }
  for (const status of [0, 401, 429, 503]) {
    const { opener } = await keysWith(() => Promise.reject(new RestError(status, 'later', 1)));
    const error = await opener(recording).then(
      () => null,
      (reason: RestError) => reason,
    );
    t.equal(error?.status, status);
  }
});

t.test('changed, repeated and clear frames of a recording stay closed, each with its reason', async (t) => {
  const { key, frames, recording } = recordedRun(['one', 'two', 'three']);
  const [one, two, three] = frames as [Frame, Frame, Frame];
  const { opener } = await keysWith(givenKey(key));
  const closed: [Frame, string][] = [
    [{ ...two, sequence: 2 }, '(changed)'],
    [{ ...two, talkgroup: 99 }, '(changed)'],
    [{ ...two, epoch: 8 }, '(changed)'],
    [{ ...two, flags: two.flags | END }, '(changed)'],
    [{ ...two, payload: two.payload.map((byte, at) => (at === 9 ? byte ^ 1 : byte)) }, '(changed)'],
    [{ ...two, payload: new Uint8Array() }, '(changed)'],
    [{ ...two, flags: two.flags & ~ENCRYPTED }, '(clear)'],
    [{ ...two, flags: END, payload: new Uint8Array() }, ''],
    [one, '(repeated)'],
  ];
  for (const [frame, why] of closed) {
    const open = await opener(recording);
    t.strictSame(textsOf([one, frame, two, three].map(open)), ['one', why, 'two', 'three']);
  }
  const speakerChanged = recordedRun(['one'], { userId: idOf('u-third') });
  const open = await opener({ ...recording, crypto: speakerChanged.recording.crypto });
  t.strictSame(textsOf(speakerChanged.frames.map(open)), ['(changed)'], 'speech of another talker');
});

t.test('no key is asked for without `crypto` or with a suite that the client does not know', async (t) => {
  const { key, frames, recording } = recordedRun(['one']);
  const { opener, asked } = await keysWith(givenKey(key));
  const suite: EncryptedRecording = { ...recording, crypto: { ...recording.crypto, suite: 5 } };
  t.strictSame(textsOf(frames.map(await opener(suite))), ['(suite)']);
  const open = await opener({ recording_id: recordingId });
  const clear = { ...(frames[0] as Frame), flags: 0, payload: Buffer.from('clear') };
  t.strictSame(textsOf([...frames, clear].map(open)), ['(unannounced)', 'clear']);
  t.strictSame(asked, []);
});
