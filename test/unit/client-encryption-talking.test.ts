// Encrypted talks: what leaves the radio, with which salt and counter, and what the radio does when the relay rejects it.
import t from 'tap';
import { createSealer } from '../../src/client/encryption/sealing.js';
import type { ErrorCode } from '../../src/protocol/codes.js';
import { burstKey, fromBase64url } from '../../src/protocol/encryption.js';
import { ENCRYPTED, END, START } from '../../src/protocol/frame.js';
import { nodePrimitives } from '../../src/protocol/node-primitives.js';
import { deriveSframeKey, metadataFrom } from '../../src/protocol/sframe.js';
import type { Crypto } from '../../src/protocol/types.js';
import { encryptedWorld, secretOf } from '../helpers/client/encryption.js';
import {
  ALPHA,
  emergency,
  type FakeSocket,
  idOf,
  keyRotated,
  OWN,
  packet,
  sentBy,
  talkEnd,
  talkStart,
} from '../helpers/client/fakes.js';

const TALKGROUP = ALPHA.talkgroup_id;

const requests = (socket: FakeSocket) => socket.texts.filter(({ type }) => type === 'FLOOR_REQUEST');
const cryptos = (socket: FakeSocket) => requests(socket).map(({ crypto }) => crypto as Crypto | undefined);

/** What the radio sent since `from`, opened as another member would: flags, sequence and speech. */
function heardBy(socket: FakeSocket, crypto: Crypto, from = 0): (number | string)[][] {
  const salt = fromBase64url(crypto.salt) ?? new Uint8Array();
  const inputs = { secret: secretOf(crypto.epoch), salt, talkgroupId: TALKGROUP, userId: idOf('u-own') };
  const baseKey = burstKey(nodePrimitives, { ...inputs, counter: crypto.epoch });
  const key = deriveSframeKey(nodePrimitives, { baseKey, keyId: crypto.epoch % 8 });
  return socket.frames.slice(from).map((frame) => {
    const opened = key.open(metadataFrom(frame), frame.payload);
    return [frame.flags, frame.sequence, ...(opened ?? ['closed'])];
  });
}

t.test('an encrypted talk announces its salt before its first frame, and seals every frame', async (t) => {
  const { radio, socket } = encryptedWorld();
  const talk = radio.talk({ talkgroupId: TALKGROUP, encrypt: true });
  talk.send(packet(0));
  talk.skip(3);
  talk.send(packet(4));
  talk.end(packet(5));
  const [crypto] = cryptos(socket());
  t.match(crypto, { suite: 4, epoch: 9, salt: /^[A-Za-z0-9_-]{21}[AQgw]$/ });
  t.same(heardBy(socket(), crypto as Crypto), [
    [ENCRYPTED, 0, 0x08, 0],
    [ENCRYPTED, 4, 0x08, 4],
    [ENCRYPTED | END, 5, 0x08, 5],
  ]);
  t.ok(socket().frames.every(({ epoch }) => epoch === 9));
});

t.test('an END without speech is sealed, so that the relay cannot leave it out unseen', async (t) => {
  const { radio, socket } = encryptedWorld();
  const talk = radio.talk({ talkgroupId: TALKGROUP, encrypt: true });
  talk.send(packet(0));
  talk.end();
  t.same(heardBy(socket(), cryptos(socket())[0] as Crypto).at(-1), [ENCRYPTED | END, 1]);
});

t.test('without the option a talk is clear in `allowed`, and encrypted in `required`', async (t) => {
  for (const encryption of ['allowed', 'required'] as const) {
    const { radio, socket } = encryptedWorld({ snapshot: { encryption } });
    radio.talk({ talkgroupId: TALKGROUP }).send(packet(0));
    if (encryption === 'allowed') t.same(sentBy(socket()), [[START, 0, 0x08, 0]]);
    else t.same(heardBy(socket(), cryptos(socket())[0] as Crypto), [[ENCRYPTED, 0, 0x08, 0]]);
  }
});

t.test('a relay that says `off` after `required` hears nothing until the user confirms it', async (t) => {
  const { radio, socket } = encryptedWorld({ snapshot: { encryption: 'required' } });
  socket().says({
    ...{ type: 'TALKGROUP_CHANGED', talkgroup_id: TALKGROUP, name: 'Alpha', floor_mode: 'open' },
    ...{ max_talk_ms: 60_000, encryption: 'off', clear_emergency: true, recording_days: 0 },
  });
  const talk = radio.talk({ talkgroupId: TALKGROUP });
  talk.send(packet(0));
  t.same(await talk.ended, { kind: 'denied', code: 'encryption_off' });
  t.same(socket().frames, []);
  radio.confirmClear(TALKGROUP);
  radio.talk({ talkgroupId: TALKGROUP }).send(packet(1));
  t.same(sentBy(socket()), [[START, 0, 0x08, 1]]);
});

t.test('what was required stays encrypted until its user confirms the change', async (t) => {
  const { radio, socket } = encryptedWorld({ snapshot: { encryption: 'required' } });
  socket().says({
    ...{ type: 'TALKGROUP_CHANGED', talkgroup_id: TALKGROUP, name: 'Alpha', floor_mode: 'open' },
    ...{ max_talk_ms: 60_000, encryption: 'allowed', clear_emergency: true, recording_days: 0 },
  });
  radio.talk({ talkgroupId: TALKGROUP }).end(packet(0));
  t.same(heardBy(socket(), cryptos(socket())[0] as Crypto), [[ENCRYPTED | END, 0, 0x08, 0]]);
  radio.confirmClear(TALKGROUP);
  radio.talk({ talkgroupId: TALKGROUP }).send(packet(1));
  t.same(sentBy(socket()).slice(1), [[START, 0, 0x08, 1]]);
});

t.test(
  'each run has a salt of its own: press, silence, resume in a new session, request after a wait',
  async (t) => {
    const { radio, socket, clock } = encryptedWorld();
    const talk = radio.talk({ talkgroupId: TALKGROUP, encrypt: true });
    talk.send(packet(0));
    socket().says(talkStart({ session: OWN, burst: 1 }));
    socket().says(talkEnd({ session: OWN, burst: 1, code: 'silence' }));
    talk.send(packet(1));
    const first = socket();
    t.same(heardBy(first, cryptos(first)[1] as Crypto, 1), [[ENCRYPTED, 0, 0x08, 1]]);
    first.closes(1006);
    clock.pass(0);
    socket().welcomes({
      session: OWN + 1,
      talkgroups: [{ ...ALPHA, encryption: 'allowed', talk_counter: 9, rotation_counter: 9 }],
    });
    talk.send(packet(2));
    const salts = [...cryptos(first), ...cryptos(socket())].map((crypto) => crypto?.salt);
    t.equal(salts.length, 3);
    t.equal(new Set(salts).size, 3);
  },
);

t.test('a resumed burst goes on with its salt and counter', async (t) => {
  const { radio, socket, clock } = encryptedWorld();
  const talk = radio.talk({ talkgroupId: TALKGROUP, encrypt: true });
  talk.send(packet(0));
  const started = talkStart({ session: OWN, burst: 1, user_id: idOf('u-own') });
  socket().says(started);
  const [crypto] = cryptos(socket());
  const { type, event, ...talker } = started;
  socket().closes(1006);
  clock.pass(0);
  const snapshot = { ...ALPHA, talkers: [{ ...talker, frames: 1, sequence: 0 }], talkers_total: 1 };
  socket().welcomes({ resumed: true, talkgroups: [snapshot] });
  talk.send(packet(1));
  t.same(requests(socket()), []);
  t.same(heardBy(socket(), crypto as Crypto), [[ENCRYPTED, 1, 0x08, 1]]);
});

t.test('a new member without the key of now talks with the one that is announced', async (t) => {
  for (const isThere of [true, false]) {
    const { radio, socket, gives, wanted } = encryptedWorld({
      counters: isThere ? [10] : [],
      snapshot: { encryption: 'allowed', rotation_counter: 10, talk_counter: 9, use_in_ms: 5_000 },
    });
    radio.talk({ talkgroupId: TALKGROUP, encrypt: true }).send(packet(0));
    if (!isThere) {
      t.same([wanted, cryptos(socket())], [[10, 9], []], 'it asks for both');
      gives(10);
    }
    const [crypto] = cryptos(socket());
    t.match(crypto, { epoch: 10 });
    t.same(heardBy(socket(), crypto as Crypto), [[ENCRYPTED, 0, 0x08, 0]]);
  }
});

t.test('a running burst keeps its epoch over a rotation, and the next one has the new epoch', async (t) => {
  const { radio, socket, gives, lives } = encryptedWorld();
  const talk = radio.talk({ talkgroupId: TALKGROUP, encrypt: true });
  talk.send(packet(0));
  socket().says(keyRotated(TALKGROUP, 1, 10));
  gives(10);
  lives(10_000);
  talk.send(packet(1));
  talk.end();
  t.ok(socket().frames.every(({ epoch }) => epoch === 9));
  radio.talk({ talkgroupId: TALKGROUP, encrypt: true }).send(packet(2));
  t.same(
    cryptos(socket()).map((crypto) => crypto?.epoch),
    [9, 10],
  );
});

t.test('a talk that was queued over a rotation renews its request with the grant', async (t) => {
  const { radio, socket, gives, lives } = encryptedWorld();
  const talk = radio.talk({ talkgroupId: TALKGROUP, encrypt: true, floor: 'queue' });
  const [{ ref } = {}] = requests(socket());
  const answer = { talkgroup_id: TALKGROUP, burst: 1, priority: 1, max_talk_ms: 0, ref: String(ref) };
  socket().says({ type: 'FLOOR_QUEUED', talkgroup_id: TALKGROUP, position: 1, size: 1, ref: String(ref) });
  socket().says(keyRotated(TALKGROUP, 1, 10));
  gives(10);
  lives(10_000);
  t.equal(requests(socket()).length, 1, 'it keeps its place');
  socket().says({ type: 'FLOOR_GRANTED', ...answer });
  talk.send(packet(0));
  const [, second] = requests(socket());
  t.match(second, { ref, queue: true, crypto: { epoch: 10 } });
  socket().says({ type: 'FLOOR_GRANTED', ...answer });
  talk.send(packet(1));
  t.same(heardBy(socket(), cryptos(socket())[1] as Crypto), [
    [ENCRYPTED, 0, 0x08, 0],
    [ENCRYPTED, 1, 0x08, 1],
  ]);
  t.equal(requests(socket()).length, 2);
});

t.test('a rotation counts from `use_in_ms` on, and its key is wanted before', async (t) => {
  const { radio, socket, wanted, gives, lives } = encryptedWorld();
  socket().says({ ...keyRotated(TALKGROUP, 1, 10), talk_counter: 9, use_in_ms: 10_000 });
  t.same(wanted, [10]);
  gives(10);
  radio.talk({ talkgroupId: TALKGROUP, encrypt: true }).send(packet(0));
  lives(10_000);
  radio.talk({ talkgroupId: TALKGROUP, encrypt: true }).send(packet(0));
  t.same(
    cryptos(socket()).map((crypto) => crypto?.epoch),
    [9, 10],
  );
});

const rejects = (socket: FakeSocket, code: ErrorCode) =>
  socket.says({ type: 'ERROR', code, message: 'x', talkgroup_id: TALKGROUP });

t.test('`encryption_unannounced` begins a run with a new salt', async (t) => {
  const { radio, socket } = encryptedWorld({ snapshot: { encryption: 'required' } });
  const talk = radio.talk({ talkgroupId: TALKGROUP });
  talk.send(packet(0));
  rejects(socket(), 'encryption_unannounced');
  talk.send(packet(1));
  const [first, second] = cryptos(socket());
  t.not(first?.salt, second?.salt);
  t.same(heardBy(socket(), second as Crypto, 1), [[ENCRYPTED, 0, 0x08, 1]]);
});

t.test('`stale_epoch` begins a run with the newest epoch', async (t) => {
  const { radio, socket } = encryptedWorld({
    counters: [9, 10],
    snapshot: { rotation_counter: 10, talk_counter: 9, use_in_ms: 5_000 },
  });
  const talk = radio.talk({ talkgroupId: TALKGROUP, encrypt: true });
  talk.send(packet(0));
  rejects(socket(), 'stale_epoch');
  talk.send(packet(1));
  t.same(
    cryptos(socket()).map((crypto) => crypto?.epoch),
    [9, 10],
  );
});

t.test('a relay that rejects every run ends the talk after the fifth', async (t) => {
  const { radio, socket } = encryptedWorld();
  const talk = radio.talk({ talkgroupId: TALKGROUP, encrypt: true });
  for (let n = 0; n < 5; n += 1) {
    talk.send(packet(n));
    rejects(socket(), 'encryption_unannounced');
  }
  t.same(await talk.ended, { kind: 'denied', code: 'encryption_unannounced' });
});

t.test('`encryption_required` is told to the app', async (t) => {
  const { radio, socket } = encryptedWorld();
  const talk = radio.talk({ talkgroupId: TALKGROUP });
  talk.send(packet(0));
  rejects(socket(), 'encryption_required');
  t.same(await talk.ended, { kind: 'denied', code: 'encryption_required' });
});

t.test('speech waits for its key, the last half second of it, and goes out when the key comes', async (t) => {
  const { radio, socket, clock, gives, wanted } = encryptedWorld({ counters: [] });
  const talk = radio.talk({ talkgroupId: TALKGROUP, encrypt: true });
  for (let n = 0; n < 40; n += 1) {
    talk.send(packet(n));
    clock.pass(20);
  }
  t.same(sentBy(socket()), []);
  t.ok(wanted.includes(9));
  gives(9);
  const heard = heardBy(socket(), cryptos(socket())[0] as Crypto);
  t.equal(heard.length, 25);
  t.same(heard[0], [ENCRYPTED, 0, 0x08, 15]);
});

t.test(
  'a talk whose key does not come within 5 s is denied with `no_key`, and nothing of it was sent',
  async (t) => {
    for (const floor of ['first_frame', 'request'] as const) {
      const { radio, socket, clock } = encryptedWorld({ counters: [] });
      const talk = radio.talk({ talkgroupId: TALKGROUP, encrypt: true, floor });
      talk.send(packet(0));
      clock.pass(5_000);
      t.same(await talk.ended, { kind: 'denied', code: 'no_key' });
      t.same([socket().texts, socket().frames], [[], []]);
    }
  },
);

t.test(
  'a talk that cannot be encrypted is denied at once: without permission, and where encryption is off',
  async (t) => {
    const forbidden = encryptedWorld({
      counters: [],
      snapshot: { encryption: 'required', may_have_keys: false },
    });
    const talk = forbidden.radio.talk({ talkgroupId: TALKGROUP });
    talk.send(packet(0));
    t.same(await talk.ended, { kind: 'denied', code: 'keys_forbidden' });
    const off = encryptedWorld({ snapshot: { encryption: 'off' } });
    const other = off.radio.talk({ talkgroupId: TALKGROUP, encrypt: true });
    other.send(packet(0));
    t.same(await other.ended, { kind: 'denied', code: 'encryption_off' });
    t.same(off.socket().frames, []);
  },
);

t.test(
  'an open emergency without a key is talked in the clear, unless the talkgroup forbids it',
  async (t) => {
    for (const clear_emergency of [true, false]) {
      const { radio, socket } = encryptedWorld({
        counters: [],
        snapshot: {
          ...{ encryption: 'required', clear_emergency, emergencies_total: 1 },
          emergencies: [emergency({ user_id: idOf('u-own') })],
        },
      });
      radio.talk({ talkgroupId: TALKGROUP }).send(packet(0));
      t.same(sentBy(socket()), clear_emergency ? [[START, 0, 0x08, 0]] : []);
    }
  },
);

t.test(
  'a request before the floor carries the salt, and one frame after it is sealed with that salt',
  async (t) => {
    const { radio, socket } = encryptedWorld();
    const talk = radio.talk({ talkgroupId: TALKGROUP, encrypt: true, floor: 'request' });
    const [request] = requests(socket());
    socket().says({
      ...{ type: 'FLOOR_GRANTED', talkgroup_id: TALKGROUP, burst: 1, priority: 1, max_talk_ms: 0 },
      ref: request?.ref as string,
    });
    talk.send(packet(0));
    t.same(heardBy(socket(), request?.crypto as Crypto), [[ENCRYPTED, 0, 0x08, 0]]);
  },
);

t.test('a sealer takes no counter twice and none below, also after a failure', async (t) => {
  const sealer = createSealer(nodePrimitives, { baseKey: new Uint8Array(32), keyId: 1 });
  const seal = (counter: number) => sealer.seal(counter, new Uint8Array(8), packet(0));
  seal(0);
  seal(5);
  for (const counter of [5, 4, 0, -1, 1.5]) t.throws(() => seal(counter), RangeError);
  t.throws(() => seal(2 ** 32), RangeError);
  t.throws(() => seal(6), RangeError, 'a counter that failed is used');
  t.equal(sealer.next, 2 ** 32 + 1);
});
