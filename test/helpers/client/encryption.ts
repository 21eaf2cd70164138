// Epochs, key stores and talkers of encrypted speech for tests, without REST and without time.
import { browserPrimitives } from '../../../src/client/encryption/browser-primitives.js';
import type { KeyStore, Memory, MissingEpoch } from '../../../src/client/encryption/key-store.js';
import { beginRun, type Run } from '../../../src/client/encryption/sealing.js';
import { epochSecret, type Primitives } from '../../../src/protocol/encryption.js';
import { nodePrimitives } from '../../../src/protocol/node-primitives.js';
import type { Crypto, Snapshot, Talker } from '../../../src/protocol/types.js';
import { ALPHA, type FakeSocket, fakeWorld, idOf, talkStart } from './fakes.js';

export const halves: Readonly<Record<string, Primitives>> = {
  node: nodePrimitives,
  browser: browserPrimitives,
};

export const MASTER = Uint8Array.from({ length: 32 }, (_, i) => i);

/** The secret of an epoch in Alpha. */
export const secretOf = (counter: number, talkgroupId = ALPHA.talkgroup_id) =>
  epochSecret(nodePrimitives, { master: MASTER, talkgroupId, counter });

/** A key store that has the epochs of `counters`, and gets others when the test gives them. */
export function fakeKeys(counters: readonly number[] = [], { memory }: { memory?: Memory } = {}) {
  const there = new Set(counters);
  const wanted: number[] = [];
  const asked: number[] = [];
  const listeners = new Set<(talkgroupId: string, missing?: MissingEpoch) => void>();
  const keys: KeyStore = {
    primitives: nodePrimitives,
    ...(memory && { memory }),
    secretFor(talkgroupId, counter) {
      asked.push(counter);
      return there.has(counter) ? secretOf(counter, talkgroupId) : null;
    },
    want(_, counter) {
      if (!there.has(counter)) wanted.push(counter);
    },
    forget: (_, counter) => there.delete(counter),
    onChange(run) {
      listeners.add(run);
      return () => listeners.delete(run);
    },
  };
  return {
    keys,
    wanted,
    there,
    /** Every secret that the radio looked for. */
    asked,
    gives(counter: number) {
      there.add(counter);
      for (const run of listeners) run(ALPHA.talkgroup_id);
    },
    /** The service gives its newest epoch, and says that the wanted one does not exist. */
    lacks(wanted: number, newest: number) {
      this.gives(newest);
      for (const run of listeners) run(ALPHA.talkgroup_id, { wanted, newest });
    },
  };
}

/** A memory that a second radio can be given. */
export function fakeMemory(): Memory {
  const texts = new Map<string, string>();
  return {
    read: (talkgroupId) => texts.get(talkgroupId) ?? null,
    write: (talkgroupId, text) => texts.set(talkgroupId, text),
  };
}

/** Alpha with its encryption. */
export const alpha = (over: Partial<Snapshot> = {}): Snapshot => ({
  ...ALPHA,
  ...{ encryption: 'allowed', rotation_counter: 9, talk_counter: 9, use_in_ms: 0, may_have_keys: true },
  ...over,
});

/** A connected radio in Alpha with what it plays and shows. */
export function encryptedWorld({
  counters = [9],
  snapshot = {},
  memory,
}: {
  counters?: readonly number[];
  snapshot?: Partial<Snapshot>;
  memory?: Memory;
} = {}) {
  const fake = fakeKeys(counters, memory ? { memory } : {});
  const world = fakeWorld({ keys: fake.keys });
  const played: number[][] = [];
  const unopened: string[] = [];
  const locks: string[] = [];
  const ends: { heard: number; unopened?: number; isCutOff?: boolean }[] = [];
  const { radio } = world;
  radio.on('audio', ({ sequence, flags, payload }) => played.push([flags, sequence, ...payload]));
  radio.on('unopened', ({ reason }) => unopened.push(reason));
  radio.on('lock', ({ kind, isUnexpected }) => locks.push(isUnexpected ? `${kind}!` : kind));
  radio.on('talk_ended', ({ heard, unopened, isCutOff }) =>
    ends.push({ heard, ...(unopened && { unopened }), ...(isCutOff && { isCutOff }) }),
  );
  world.socket().welcomes({ talkgroups: [alpha(snapshot)] });
  /** Time passes, and the connection lives. */
  const lives = (ms: number) => {
    for (let left = ms; left > 0; left -= 5_000) {
      world.clock.pass(Math.min(left, 5_000));
      world.socket().says({ type: 'PONG', t: 0, server_time: 0 });
    }
  };
  return { ...world, ...fake, played, unopened, locks, ends, lives };
}

/** A run of another user in Alpha. */
export const runOf = (counter = 9, userId = idOf('u-other'), primitives = nodePrimitives): Run =>
  beginRun(primitives, { secret: secretOf(counter), talkgroupId: ALPHA.talkgroup_id, userId, counter });

/** Seals a frame and delivers it as the relay relays it. */
export function relays(
  socket: FakeSocket,
  run: Run,
  frame: { sequence: number; payload: Uint8Array; flags?: number },
  change: (bytes: Uint8Array) => void = () => {},
): Uint8Array {
  const bytes = run.seal({ flags: 0, talkgroup: ALPHA.number, ...frame });
  stamp(bytes, 20, 1);
  change(bytes);
  socket.delivers(bytes.slice().buffer);
  return bytes;
}

/** Writes the sender and the burst, as the relay does. */
export function stamp(bytes: Uint8Array, session: number, burst: number): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  view.setUint32(8, session);
  view.setUint32(12, burst);
}

/** The burst of `relays`, announced. */
export const announced = (crypto: Crypto | undefined, over: Partial<Talker & { event: number }> = {}) =>
  talkStart({ ...(crypto && { crypto }), ...over });
