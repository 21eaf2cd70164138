// Encrypted bursts from a relay that lies: what the radio plays, what it counts, and what it shows.
import t from 'tap';
import { fromBase64url } from '../../src/protocol/encryption.js';
import { ENCRYPTED, END, START } from '../../src/protocol/frame.js';
import { nodePrimitives } from '../../src/protocol/node-primitives.js';
import type { Crypto } from '../../src/protocol/types.js';
import {
  alpha,
  announced,
  encryptedWorld,
  fakeMemory,
  relays,
  runOf,
  stamp,
} from '../helpers/client/encryption.js';
import { ALPHA, idOf, keyRotated, packet, talkEnd } from '../helpers/client/fakes.js';

const TALKGROUP = ALPHA.talkgroup_id;

t.test('a burst opens before the app gets it, END included', async (t) => {
  const { socket, played, locks, ends, unopened } = encryptedWorld();
  const run = runOf();
  socket().says(announced(run.crypto));
  relays(socket(), run, { sequence: 0, payload: packet(0) }, (bytes) => {
    bytes[0] = (bytes[0] ?? 0) | START; // written by the relay
  });
  relays(socket(), run, { sequence: 300, payload: packet(1) });
  relays(socket(), run, { sequence: 301, payload: new Uint8Array(), flags: END });
  socket().says(talkEnd());
  t.same(played, [
    [START, 0, 0x08, 0],
    [0, 300, 0x08, 1],
    [END, 301],
  ]);
  t.same([locks, ends, unopened], [['encrypted'], [{ heard: 3 }], []]);
});

t.test('a burst under the name of another user does not open', async (t) => {
  const { socket, played, unopened, locks } = encryptedWorld();
  const run = runOf(9, idOf('u-third'));
  socket().says(announced(run.crypto));
  relays(socket(), run, { sequence: 0, payload: packet(0) });
  relays(socket(), run, { sequence: 1, payload: packet(1) });
  t.same([played, unopened], [[], ['changed']], 'told once');
  t.same(locks, ['encrypted', 'cannot_open']);
});

t.test('a bit that the relay flips is noticed, START and EMERGENCY are the relay’s', async (t) => {
  for (let bit = 0; bit < 8 * (16 + 19); bit += 1) {
    const { socket, played } = encryptedWorld();
    const run = runOf();
    socket().says(announced(run.crypto));
    relays(socket(), run, { sequence: 0, payload: packet(0) }, (bytes) => {
      bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (0x80 >> (bit & 7));
    });
    // START and EMERGENCY. Sender and burst make it a frame of another burst, which is not announced.
    const isServers = bit === 4 || bit === 6;
    t.equal(played.length, isServers ? 1 : 0, `bit ${bit}`);
  }
});

t.test(
  'a frame is played once: repeated, in an earlier order, and in a later burst with the same salt',
  async (t) => {
    const { socket, played, unopened, ends } = encryptedWorld();
    const run = runOf();
    socket().says(announced(run.crypto));
    const frames = [0, 1, 2].map((sequence) =>
      relays(socket(), run, { sequence, payload: packet(sequence) }),
    );
    for (const bytes of [frames[2], frames[0], frames[1]]) socket().delivers(bytes?.slice().buffer);
    socket().says(talkEnd());
    t.same([played.length, unopened], [3, ['repeated']]);
    socket().says(announced(run.crypto, { burst: 2, event: 3 }));
    for (const bytes of frames) {
      stamp(bytes, 20, 2);
      socket().delivers(bytes.slice().buffer);
    }
    t.equal(played.length, 3);
    relays(socket(), run, { sequence: 3, payload: packet(3) }, (bytes) => stamp(bytes, 20, 2));
    t.equal(played.length, 4, 'a salt that comes back goes on above what was heard');
    socket().says(talkEnd({ burst: 2, event: 4 }));
    t.same(ends[1], { heard: 4, unopened: 3, isCutOff: true });
  },
);

t.test('a member that uses the salt of another one silences no member', async (t) => {
  const { socket, played, unopened } = encryptedWorld();
  const run = runOf();
  socket().says(announced(run.crypto));
  relays(socket(), run, { sequence: 0, payload: packet(0) });
  const salt = fromBase64url(run.crypto.salt) ?? new Uint8Array();
  const third = runOf(9, idOf('u-third'), { ...nodePrimitives, randomBytes: () => salt });
  const bytes = third.seal({
    flags: START,
    talkgroup: ALPHA.number,
    sequence: 0xffff_ffff,
    payload: packet(9),
  });
  stamp(bytes, 21, 1);
  socket().says(announced(third.crypto, { session: 21, user_id: idOf('u-third'), event: 2 }));
  socket().delivers(bytes.slice().buffer);
  relays(socket(), run, { sequence: 1, payload: packet(1) });
  t.same([played.length, unopened], [3, []]);
});

t.test('a second radio with the memory of the first plays nothing again', async (t) => {
  const memory = fakeMemory();
  const first = encryptedWorld({ memory });
  const run = runOf();
  first.socket().says(announced(run.crypto));
  const bytes = relays(first.socket(), run, { sequence: 0, payload: packet(0) });
  first.socket().says(talkEnd());
  const second = encryptedWorld({ memory });
  second.socket().says(announced(run.crypto));
  second.socket().delivers(bytes.slice().buffer);
  t.same([first.played.length, second.played.length, second.unopened], [1, 0, ['repeated']]);
});

t.test('a clear frame in an encrypted burst is never played', async (t) => {
  const { socket, played, unopened, locks } = encryptedWorld();
  const run = runOf();
  socket().says(announced(run.crypto));
  relays(socket(), run, { sequence: 0, payload: packet(0) });
  const clear = { talkgroup: ALPHA.number, sender: 20, burst: 1, payload: packet(9) };
  socket().relays({ ...clear, sequence: 1 });
  socket().relays({ ...clear, sequence: 2, epoch: 9, flags: END });
  t.same([played.length, unopened], [1, ['clear']]);
  t.same(locks, ['encrypted', 'cannot_open']);
});

t.test(
  'clear frames of a burst that was not announced are shown as clear beside an encrypted one',
  async (t) => {
    const { socket, played, locks, radio } = encryptedWorld();
    const run = runOf();
    socket().says(announced(run.crypto));
    relays(socket(), run, { sequence: 0, payload: packet(0) });
    for (const sequence of [1, 2])
      socket().relays({ talkgroup: ALPHA.number, sender: 20, burst: 2, payload: packet(9), sequence });
    t.same(locks, ['encrypted', 'clear'], 'told once');
    t.equal(radio.talkgroups.get(TALKGROUP)?.locks.get(20), 'clear');
    t.equal(played.length, 3);
  },
);

t.test('a clear frame that nothing announced is shown in `required`, and only there', async (t) => {
  for (const [encryption, shown] of [
    ['required', ['clear!']],
    ['allowed', []],
  ] as const) {
    const { socket, locks, radio } = encryptedWorld({ snapshot: { encryption } });
    for (const sequence of [1, 2])
      socket().relays({ talkgroup: ALPHA.number, sender: 20, burst: 1, payload: packet(9), sequence });
    t.same(locks, shown);
    t.equal(radio.talkgroups.get(TALKGROUP)?.locks.size, 0, 'nobody talks');
  }
});

t.test('a burst without its sealed END is shown as cut off, also with an END of the relay', async (t) => {
  for (const hasEnd of [false, true]) {
    const { socket, ends, unopened } = encryptedWorld();
    const run = runOf();
    socket().says(announced(run.crypto));
    relays(socket(), run, { sequence: 0, payload: packet(0) });
    const end = {
      talkgroup: ALPHA.number,
      sender: 20,
      burst: 1,
      sequence: 1,
      flags: END,
      payload: new Uint8Array(),
    };
    if (hasEnd) socket().relays(end);
    socket().says(talkEnd());
    t.match(ends[0], { isCutOff: true });
    t.same(unopened, []);
  }
});

t.test(
  'a counter that does not fit the sequence, and an epoch byte that does not fit the burst, do not open',
  async (t) => {
    const { socket, played, unopened } = encryptedWorld({
      counters: [9, 265],
      snapshot: { rotation_counter: 265, talk_counter: 265 },
    });
    const run = runOf(265);
    socket().says(announced({ ...run.crypto, epoch: 9 }));
    relays(socket(), run, { sequence: 0, payload: packet(0) });
    t.same([played, unopened], [[], ['old_epoch']], '9 and 265 have the same low byte');
    const other = encryptedWorld();
    const sealed = runOf();
    other.socket().says(announced(sealed.crypto));
    relays(other.socket(), sealed, { sequence: 70_000, payload: packet(0) }, (bytes) => {
      new DataView(bytes.buffer).setUint16(2, 1);
    });
    t.same([other.played, other.unopened], [[], ['changed']]);
  },
);

t.test(
  'frames wait at most 500 ms for their key, in order, and the end of the burst with them',
  async (t) => {
    const { socket, clock, gives, wanted, played, ends } = encryptedWorld({ counters: [] });
    const run = runOf();
    socket().says(announced(run.crypto));
    relays(socket(), run, { sequence: 0, payload: packet(0) });
    relays(socket(), run, { sequence: 1, payload: packet(1), flags: END });
    socket().says(talkEnd());
    clock.pass(499);
    t.same([played, ends], [[], []]);
    t.ok(wanted.includes(9));
    gives(9);
    t.same(played, [
      [0, 0, 0x08, 0],
      [END, 1, 0x08, 1],
    ]);
    t.same(ends, [{ heard: 2 }]);
  },
);

t.test('frames whose key does not come are missed, and what follows the key is played', async (t) => {
  const { socket, clock, gives, played, ends, unopened, locks } = encryptedWorld({ counters: [] });
  const run = runOf();
  socket().says(announced(run.crypto));
  relays(socket(), run, { sequence: 0, payload: packet(0) });
  clock.pass(500);
  t.same([unopened, locks], [['no_key'], ['encrypted', 'cannot_open']]);
  relays(socket(), run, { sequence: 1, payload: packet(1) });
  gives(9);
  relays(socket(), run, { sequence: 2, payload: packet(2), flags: END });
  socket().says(talkEnd());
  t.same(played, [[END, 2, 0x08, 2]]);
  t.same(ends, [{ heard: 3, unopened: 2 }]);
  t.equal(locks.at(-1), 'encrypted');
});

t.test('a member without permission asks for no key when a member talks', async (t) => {
  const snapshot = { encryption: 'required', may_have_keys: false } as const;
  const { socket, wanted } = encryptedWorld({ counters: [], snapshot });
  socket().says(announced(runOf().crypto));
  t.same(wanted, []);
});

t.test('a radio without keys plays no encrypted frame, and clear ones as before', async (t) => {
  const { socket, radio, played, locks } = encryptedWorld();
  radio.close();
  t.same([played, locks], [[], []]);
  const { fakeWorld } = await import('../helpers/client/fakes.js');
  const plain = fakeWorld();
  const audio: number[] = [];
  const kinds: string[] = [];
  plain.radio.on('audio', ({ sequence }) => audio.push(sequence));
  plain.radio.on('lock', ({ kind }) => kinds.push(kind));
  plain.socket().welcomes({ talkgroups: [alpha()] });
  const run = runOf();
  plain.socket().says(announced(run.crypto));
  relays(plain.socket(), run, { sequence: 0, payload: packet(0) });
  plain.socket().says(talkEnd());
  plain.socket().says(announced(undefined, { burst: 2, event: 3 }));
  const frame = { talkgroup: ALPHA.number, sender: 20, burst: 2, payload: packet(1) };
  plain.socket().relays({ ...frame, sequence: 7 });
  plain.socket().relays({ ...frame, sequence: 8, flags: ENCRYPTED });
  t.same([audio, kinds], [[7], ['cannot_open', 'clear', 'cannot_open']]);
  t.ok(socket());
});

t.test('an epoch is over 60 s after its successor is used, however often it is heard by then', async (t) => {
  const { socket, lives, gives, there, played, unopened } = encryptedWorld();
  const [early, late, over] = [runOf(), runOf(), runOf()];
  socket().says(keyRotated(TALKGROUP, 1, 10));
  gives(10);
  lives(59_000);
  socket().says(announced(early.crypto, { event: 2 }));
  relays(socket(), early, { sequence: 0, payload: packet(0) });
  socket().says(talkEnd({ event: 3 }));
  lives(900);
  socket().says(announced(late.crypto, { event: 4, burst: 2 }));
  relays(socket(), late, { sequence: 0, payload: packet(0) }, (bytes) => stamp(bytes, 20, 2));
  socket().says(talkEnd({ event: 5, burst: 2 }));
  t.equal(played.length, 2);
  lives(101);
  socket().says(announced(over.crypto, { event: 6, burst: 3 }));
  relays(socket(), over, { sequence: 0, payload: packet(0) }, (bytes) => stamp(bytes, 20, 3));
  socket().says(talkEnd({ event: 7, burst: 3 }));
  t.same([played.length, unopened], [2, ['old_epoch']]);
  t.same([...there], [10], 'the radio forgot the secret');
});

t.test('a relay that tells an older counter does not bring an old epoch back', async (t) => {
  const { socket, radio, played } = encryptedWorld({ counters: [3, 9] });
  socket().says({ type: 'SYNCED', ...alpha({ rotation_counter: 3, talk_counter: 3, event: 1 }) });
  const run = runOf(3);
  socket().says(announced(run.crypto, { event: 2 }));
  relays(socket(), run, { sequence: 0, payload: packet(0) });
  t.same(played, []);
  radio.talk({ talkgroupId: TALKGROUP, encrypt: true }).send(packet(0));
  t.match(socket().texts.at(-1), { crypto: { epoch: 9 } });
});

t.test(
  'clear bursts are unexpected in `required`, and afterwards until the user confirms the change',
  async (t) => {
    const memory = fakeMemory();
    const { socket, locks } = encryptedWorld({ memory, snapshot: { encryption: 'required' } });
    socket().says(announced(undefined));
    socket().says(talkEnd());
    t.same(locks, ['clear!'], 'an emergency, or a relay that lies');
    const again = encryptedWorld({ memory, snapshot: { encryption: 'allowed' } });
    again.socket().says(announced(undefined));
    again.socket().says(talkEnd());
    again.radio.confirmClear(TALKGROUP);
    again.socket().says(announced(undefined, { burst: 2, event: 3 }));
    t.same(again.locks, ['clear!', 'clear']);
  },
);

t.test('a suite that the radio does not know is shown as such', async (t) => {
  const { socket, played, unopened, locks } = encryptedWorld();
  const run = runOf();
  socket().says(announced({ ...run.crypto, suite: 5 }));
  relays(socket(), run, { sequence: 0, payload: packet(0) });
  t.same([played, unopened, locks], [[], ['suite'], ['cannot_open']]);
});

/** A burst of another radio with the epoch, as a radio with this memory hears and answers it. */
function hearsAndTalks(world: ReturnType<typeof encryptedWorld>, counter: number) {
  const run = runOf(counter);
  world.socket().says(announced(run.crypto));
  relays(world.socket(), run, { sequence: 0, payload: packet(0) });
  world.socket().says(talkEnd());
  const talk = world.radio.talk({ talkgroupId: TALKGROUP, encrypt: true });
  talk.send(packet(1));
  const request = world.socket().texts.find(({ type }) => type === 'FLOOR_REQUEST');
  return { heard: world.played.length, epoch: (request?.crypto as Crypto | undefined)?.epoch, talk };
}

t.test('a counter that the relay alone says is taken back when the service has no such epoch', async (t) => {
  for (const encryption of ['required', 'allowed'] as const) {
    const memory = fakeMemory();
    const first = encryptedWorld({ memory, snapshot: { encryption } });
    hearsAndTalks(first, 9);
    first.socket().says(keyRotated(TALKGROUP, 3, 500));
    t.ok(first.wanted.includes(500));
    const opened = runOf();
    first.socket().says(announced(opened.crypto, { event: 4, burst: 2 }));
    first.socket().says(talkEnd({ event: 5, burst: 2 }));
    first.radio.confirmClear(TALKGROUP);
    const again = encryptedWorld({ memory, counters: [], snapshot: { encryption } });
    const deaf = hearsAndTalks(again, 9);
    t.same([deaf.heard, deaf.epoch], [0, undefined], 'it does not believe the lower one from the relay');
    t.ok(again.wanted.includes(500));
    again.lacks(500, 9);
    t.match(again.socket().texts.at(-1), { crypto: { epoch: 9 } }, 'the talk that waits begins');
    const run = runOf();
    again.socket().says(announced(run.crypto, { event: 3, burst: 1 }));
    relays(again.socket(), run, { sequence: 0, payload: packet(0) });
    t.equal(again.played.length, 1);
  }
});

t.test('a counter without proof, as an earlier release remembers it, is taken back as well', async (t) => {
  const memory = fakeMemory();
  memory.write(TALKGROUP, JSON.stringify({ required: true, counter: 500, salts: [] }));
  const world = encryptedWorld({ memory, snapshot: { encryption: 'required' } });
  t.same(world.wanted, [500]);
  world.lacks(500, 9);
  t.match(hearsAndTalks(world, 9), { heard: 1, epoch: 9 });
});

t.test('no lower counter is taken, also from the service, when a key proves the higher one', async (t) => {
  for (const counters of [[9], []]) {
    const memory = fakeMemory();
    const first = encryptedWorld({ memory });
    hearsAndTalks(first, 9);
    const snapshot = { encryption: 'required', rotation_counter: 8, talk_counter: 8 } as const;
    const lower = encryptedWorld({ memory, counters: [8, ...counters], snapshot });
    if (counters.length > 0) {
      t.match(hearsAndTalks(lower, 8), { heard: 0, epoch: 9 }, 'a relay says less');
      continue;
    }
    // A backup was restored.
    lower.lacks(9, 8);
    const { heard, epoch, talk } = hearsAndTalks(lower, 8);
    t.same([heard, epoch, lower.unopened], [0, undefined, ['keys_behind']]);
    t.same(await talk.ended, { kind: 'denied', code: 'keys_behind' });
    // secrets renew --restored
    lower.socket().says(keyRotated(TALKGROUP, 3, 1_000_008));
    lower.gives(1_000_008);
    const renewed = lower.radio.talk({ talkgroupId: TALKGROUP });
    renewed.send(packet(2));
    t.match(lower.socket().texts.at(-1), { crypto: { epoch: 1_000_008 } });
  }
});

t.test('a burst of the epoch before opens also when the counter was raised by a million', async (t) => {
  const { socket, gives, played } = encryptedWorld();
  socket().says(keyRotated(TALKGROUP, 1, 1_000_009));
  gives(1_000_009);
  const run = runOf(9);
  socket().says(announced(run.crypto, { event: 2 }));
  relays(socket(), run, { sequence: 0, payload: packet(0) });
  t.equal(played.length, 1);
});

t.test('a counter far ahead costs a talk no search, and one beyond a u32 is ignored', async (t) => {
  const world = encryptedWorld({ counters: [] });
  world.socket().says({ ...keyRotated(TALKGROUP, 1, 1_000_009), talk_counter: 9, use_in_ms: 10_000 });
  world.asked.length = 0;
  world.radio.talk({ talkgroupId: TALKGROUP, encrypt: true }).send(packet(0));
  t.ok(world.asked.length < 50, `${world.asked.length} looked for`);
  world.gives(1_000_009);
  t.match(world.socket().texts.at(-1), { crypto: { epoch: 1_000_009 } }, 'the announced one is used');
  world.wanted.length = 0;
  world.socket().says(keyRotated(TALKGROUP, 2, 2 ** 32));
  t.same(world.wanted, []);
});
