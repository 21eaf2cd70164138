// Repeats what others say: a partner to talk to while an app is written. For Node only.
import { speak } from '../audio/speak.js';
import type { HeardEnd } from '../hearing/channel.js';
import type { Codec, Talker } from '../radio.js';
import { findTalkgroup, isNamed, openRadio, seconds, type TerminalOptions, until } from './opening.js';

/** Behind the end of a burst (ms), as a person who answers. */
const PAUSE_MS = 500;
/** Of a burst (ms). What is said after that is not repeated. */
const BURST_MS_MAX = 60_000;
const FRAME_MS_PRESET = 20;
/** Bursts that are collected or wait at a time. A further one is not repeated. */
const BURSTS_MAX = 8;
/** So many equal packets at the start are the own words, from another echo, for this time behind the repetition (ms). */
const OWN_PACKETS = 10;
const OWN_MS = 5_000;

interface Burst {
  readonly talker: Talker;
  /** In the order of their sequence. */
  readonly packets: { readonly sequence: number; readonly payload: Uint8Array }[];
}

/**
 * Repeats each burst in all talkgroups, or in one by name or id, half a second after its end, until `signal` aborts. It waits
 * for the floor. It leaves out encrypted bursts, and what another echo has repeated. Resolves with the number of bursts that
 * it repeated. Rejects like `listenToFile`.
 */
export async function echo(
  options: TerminalOptions & { talkgroup?: string },
): Promise<{ readonly repeated: number }> {
  const { talkgroup, signal, report = () => {} } = options;
  const radio = openRadio(options);
  const bursts = new Map<string, Burst>();
  /** Beginnings of what is repeated, or was within OWN_MS. As many as bursts that wait, and those of OWN_MS. */
  const own = new Set<readonly Uint8Array[]>();
  let waiting = 0;
  let repeated = 0;
  let isEncryptionTold = false;
  let turn: Promise<void> = Promise.resolve();

  const wants = (talkgroupId: string) =>
    talkgroup === undefined || isNamed(radio.talkgroups.get(talkgroupId), talkgroup);

  radio.on('talk_started', (talker) => {
    if (talker.session === radio.session || !wants(talker.talkgroup_id)) return;
    if (talker.crypto !== undefined) return tellEncryption();
    if (bursts.size + waiting >= BURSTS_MAX)
      return report(`too many talk at once: ${talker.username} is not repeated`);
    bursts.set(keyOf(talker), { talker, packets: [] });
  });
  radio.on('audio', ({ session, burst, sequence, payload }) => {
    const found = bursts.get(keyOf({ session, burst }));
    if (found === undefined || found.packets.length >= packetsMax(found.talker.codec)) return;
    if (payload.byteLength > 0) found.packets.push({ sequence, payload: payload.slice() });
  });
  radio.on('talk_ended', (end) => {
    const found = bursts.get(keyOf(end));
    bursts.delete(keyOf(end));
    if (found === undefined || found.packets.length === 0) return;
    const packets = found.packets
      .toSorted((one, other) => one.sequence - other.sequence)
      .map(({ payload }) => payload);
    const beginning = packets.slice(0, OWN_PACKETS);
    if ([...own].some((said) => isSame(beginning, said)))
      return report('own words, or the same again: not repeated');
    own.add(beginning);
    waiting++;
    turn = turn
      .then(() => repeat(found.talker, packets))
      .catch((error: Error) => report(`not repeated: ${error.message}`))
      .finally(() => {
        waiting--;
        setTimeout(() => own.delete(beginning), OWN_MS).unref();
      });
  });

  function tellEncryption(): void {
    if (!isEncryptionTold) report('encrypted speech is not repeated');
    isEncryptionTold = true;
  }

  async function repeat(talker: Talker, packets: readonly Uint8Array[]): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    if (signal?.aborted || radio.state !== 'open') return;
    const { talkgroup_id: talkgroupId, codec, username } = talker;
    const packetMs = codec?.frame_ms ?? FRAME_MS_PRESET;
    const talk = radio.talk({ talkgroupId, floor: 'queue', ...(codec && { codec }) });
    await speak({ talk, packets, packetMs, signal });
    const { code } = await talk.ended;
    if (code === 'released') repeated++;
    report(`repeated ${seconds(packets.length * packetMs)} of ${username}: ${code}`);
  }

  try {
    await until(radio, { event: 'complete', signal });
    if (talkgroup !== undefined && !signal?.aborted) findTalkgroup(radio, talkgroup);
    report(`repeating in ${talkgroup ?? `${radio.talkgroups.size} talkgroups`}`);
    await until(radio, { signal });
  } finally {
    radio.close();
    await turn;
  }
  return { repeated };
}

const keyOf = ({ session, burst }: Pick<HeardEnd, 'session' | 'burst'>) => `${session} ${burst}`;

const packetsMax = (codec: Codec | undefined) =>
  Math.ceil(BURST_MS_MAX / (codec?.frame_ms ?? FRAME_MS_PRESET));

/** Two echoes in one talkgroup would go on for ever. */
const isSame = (packets: readonly Uint8Array[], said: readonly Uint8Array[]): boolean =>
  packets.length === said.length &&
  packets.every((packet, at) => Buffer.compare(packet, said[at] ?? Buffer.alloc(0)) === 0);
