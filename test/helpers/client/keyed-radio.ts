// Radios with keys of their own, over the real wire, and taps on all that goes over it.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import {
  createKeyring,
  createRadio,
  createRest,
  type HeardEnd,
  type HeardFrame,
  type KeyStore,
  keepHolderId,
  openHolderFile,
  openMemoryFile,
  type Radio,
  type RadioSocket,
  registerHolder,
  speak,
  type Talk,
  type Talker,
  UncompressedWebSocket,
} from '../../../src/client/node.js';
import { comesTrue } from '../eventually.js';
import { PASSWORD } from '../http/rest.js';

export const PACKET_MS = 20;

export interface Tap {
  /** Messages and bodies in the order of their arrival here. */
  readonly bytes: Buffer[];
  readonly sockets: { terminate(): void }[];
  readonly WebSocket: new (address: string) => RadioSocket;
  readonly fetch: NonNullable<Parameters<typeof createRest>[0]['fetch']>;
}

/** Keeps every byte that its radios send and receive, by WebSocket and by REST. */
export function createTap(): Tap {
  const bytes: Buffer[] = [];
  const sockets: Tap['sockets'] = [];
  const keep = (data: string | Uint8Array) => bytes.push(Buffer.from(data as Uint8Array));
  class TappedWebSocket extends UncompressedWebSocket {
    constructor(address: string) {
      super(address);
      sockets.push(this);
      this.on('message', keep);
    }
    override send(data: string | Uint8Array): void {
      keep(data);
      super.send(data);
    }
  }
  const tapped: Tap['fetch'] = async (address, init) => {
    keep(`${address} ${init.body ?? ''}`);
    const { ok, status, headers, ...response } = await fetch(address, init).then(async (answer) => ({
      ...{ ok: answer.ok, status: answer.status, headers: answer.headers },
      bytes: new Uint8Array(await answer.arrayBuffer()),
    }));
    keep(response.bytes);
    return {
      ...{ ok, status, headers },
      json: async () => JSON.parse(Buffer.from(response.bytes).toString()),
      arrayBuffer: async () => response.bytes.buffer,
    };
  };
  return { bytes, sockets, WebSocket: TappedWebSocket, fetch: tapped };
}

/** Registers a key holder in a file for the user of the token. */
export async function keysOf(
  t: Test,
  { rest: url }: { readonly rest: string },
  {
    token,
    name = 'radio',
    password = PASSWORD,
    tap = createTap(),
  }: { token: string; name?: string; password?: string; tap?: Tap },
) {
  const folder = await mkdtemp(join(tmpdir(), 'holder-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const path = join(folder, 'holder.json');
  const rest = createRest({ url, token, fetch: tap.fetch });
  const stored = await openHolderFile(path);
  const registered = await registerHolder(rest, { publicKey: stored.publicKey, password, name });
  const holder = await keepHolderId(path, stored, registered.holderId);
  const memory = await openMemoryFile(`${path}.heard`);
  const keyring = createKeyring({ rest, holder, memory });
  t.teardown(async () => {
    keyring.close();
    await memory.close();
  });
  return {
    ...registered,
    rest,
    keyring,
    tap,
    token,
    /** Resolves when it has the key of that epoch. */
    has: (talkgroupId: string, counter: number) =>
      comesTrue(`the key of epoch ${counter}`, () => keyring.secretFor(talkgroupId, counter) !== null),
  };
}

export type Keys = Awaited<ReturnType<typeof keysOf>>;

/** Connects a radio, and keeps what it hears and shows. Without `keyring` it has no keys. */
export async function radioWith(
  t: Test,
  { ws }: { readonly ws: string },
  { token, keyring, tap }: { token: string; keyring?: KeyStore; tap?: Tap },
) {
  const radio = createRadio({
    ...{ url: ws, token },
    ...(keyring && { keys: keyring }),
    ...(tap && { WebSocket: tap.WebSocket }),
  });
  t.teardown(() => radio.close());
  const heard: HeardFrame[] = [];
  const talkers: Talker[] = [];
  const unopened: string[] = [];
  const locks: string[] = [];
  const ends: HeardEnd[] = [];
  radio.on('audio', (frame) => heard.push(frame));
  radio.on('talk_started', (talker) => talkers.push(talker));
  radio.on('unopened', ({ reason }) => unopened.push(reason));
  radio.on('lock', ({ kind, isUnexpected }) => locks.push(isUnexpected ? `${kind}, unexpected` : kind));
  radio.on('talk_ended', (end) => ends.push(end));
  await radio.opened;
  return {
    ...{ radio, heard, talkers, unopened, locks, ends },
    /** The payloads that it heard as hexadecimal digits, but no empty ones. */
    speech: () =>
      heard
        .filter(({ payload }) => payload.length > 0)
        .map(({ payload }) => Buffer.from(payload).toString('hex')),
    /** Resolves when so many talks of others have ended. */
    hearsEnds: (count: number) => comesTrue(`${count} talks have ended`, () => ends.length >= count),
  };
}

export type KeyedRadio = Awaited<ReturnType<typeof radioWith>>;

/** Talks these packets at the speed of speech, and resolves with the outcome. */
export async function talks(
  radio: Radio,
  talkgroupId: string,
  packets: readonly Uint8Array[],
  encrypt = false,
) {
  const talk: Talk = radio.talk({ talkgroupId, encrypt });
  await speak({ talk, packets, packetMs: PACKET_MS });
  return talk.ended;
}
