// Writes the audio that a radio receives to one Ogg Opus file, one burst after the other, each in order of its sequence.
import { packetsInGap } from '../audio/gaps.js';
import type { OpusWriter } from '../audio/ogg.js';
import { isOpus, opusMs } from '../audio/opus.js';
import type { HeardEnd, HeardFrame } from '../hearing/channel.js';
import type { Radio } from '../radio.js';

/** Counts of bursts and packets. `concealed`: packets written for missing frames. `leftOut`: packets not written. */
export type Recorded = { bursts: number; packets: number; concealed: number; leftOut: number };

export type Recorder = {
  readonly recorded: Readonly<Recorded>;
  /** Writes all packets received so far and completes the file. Rejects if the file could not be written. */
  close(): Promise<void>;
};

type Burst = {
  talkgroupId: string;
  session: number;
  burst: number;
  isOver: boolean;
  last: { sequence: number; packet: Uint8Array } | null;
  /** Packets received while another burst was being written. */
  waiting: Uint8Array[];
};

// 5 min of 20 ms packets. Further packets of overlapping bursts are not written.
const WAITING_PACKETS_MAX = 15_000;

/**
 * Records from now on. It does not write silence between bursts. If bursts overlap, the later ones follow the first.
 * `wants` selects the talkgroups. It calls `onBurst` after each burst, and `onFailure` if the file cannot be written.
 */
export function createRecorder({
  radio,
  writer,
  wants = () => true,
  onBurst = () => {},
  onFailure = () => {},
}: {
  radio: Radio;
  writer: OpusWriter;
  wants?: (talkgroupId: string) => boolean;
  onBurst?: (end: HeardEnd) => void;
  onFailure?: () => void;
}): Recorder {
  const recorded: Recorded = { bursts: 0, packets: 0, concealed: 0, leftOut: 0 };
  /** In the order in which they began. The first one is being written. */
  let bursts: Burst[] = [];
  let waitingPackets = 0;
  let written: Promise<void> = Promise.resolve();

  const stopListening = [
    radio.on('talk_started', (talker) => {
      const { talkgroup_id: talkgroupId, session, burst, codec } = talker;
      if (wants(talkgroupId) && session !== radio.session && isOpus(codec))
        burstOf({ talkgroupId, session, burst });
    }),
    radio.on('audio', (frame) => {
      if (!wants(frame.talkgroupId)) return;
      if (isAnnounced(frame)) take(frame, burstOf(frame));
      else recorded.leftOut += 1;
    }),
    radio.on('lag', ({ talkgroupId }) => {
      // The relay skipped frames on purpose. Their gap is not concealed, and the next packet is live.
      for (const burst of bursts) if (burst.talkgroupId === talkgroupId) burst.last = null;
    }),
    radio.on('talk_ended', (end) => {
      const ended = bursts.find(isSame(end));
      if (!ended) return;
      // Encrypted packets that the radio could not open.
      recorded.leftOut += end.unopened ?? 0;
      finish(ended, end);
    }),
  ];

  return {
    recorded,
    async close() {
      for (const stop of stopListening) stop();
      for (const burst of bursts) burst.waiting.forEach(write);
      bursts = [];
      try {
        await written;
      } finally {
        await writer.close();
      }
    },
  };

  /** Not in another codec. A burst that a snapshot had no room for has no `talk_ended`. Bursts behind it would never be written. */
  function isAnnounced({ talkgroupId, session, burst }: HeardFrame): boolean {
    const talker = radio.talkgroups.get(talkgroupId)?.talkers.get(session);
    return talker?.burst === burst && isOpus(talker.codec);
  }

  function burstOf({ talkgroupId, session, burst }: Pick<Burst, 'talkgroupId' | 'session' | 'burst'>): Burst {
    const known = bursts.find(isSame({ session, burst }));
    if (known) return known;
    const started: Burst = { talkgroupId, session, burst, isOver: false, last: null, waiting: [] };
    bursts.push(started);
    return started;
  }

  function take(frame: HeardFrame, burst: Burst): void {
    const packet = frame.payload;
    if (packet.length === 0) return; // an END without speech
    if (opusMs(packet) === null) {
      recorded.leftOut += 1;
      return;
    }
    const missing = burst.last ? frame.sequence - burst.last.sequence - 1 : 0;
    if (missing < 0) return; // a repeated packet
    if (burst.last) conceal(burst, packetsInGap(burst.last.packet, missing));
    burst.last = { sequence: frame.sequence, packet };
    append(burst, packet);
  }

  function conceal(burst: Burst, packets: readonly Uint8Array[]): void {
    recorded.concealed += packets.length;
    for (const packet of packets) append(burst, packet);
  }

  function append(burst: Burst, packet: Uint8Array): void {
    if (burst === bursts[0]) {
      write(packet);
    } else if (waitingPackets < WAITING_PACKETS_MAX) {
      waitingPackets += 1;
      burst.waiting.push(packet);
    } else {
      recorded.leftOut += 1;
    }
  }

  function finish(burst: Burst, end: HeardEnd): void {
    burst.isOver = true;
    recorded.bursts += 1;
    while (bursts[0]?.isOver) {
      bursts.shift();
      const next = bursts[0]?.waiting.splice(0) ?? [];
      waitingPackets -= next.length;
      next.forEach(write);
    }
    onBurst(end);
  }

  function write(packet: Uint8Array): void {
    recorded.packets += 1;
    written = written.then(() => writer.write(packet));
    // close() rejects with the reason.
    written.catch(onFailure);
  }
}

const isSame = (one: Pick<Burst, 'session' | 'burst'>) => (other: Burst) =>
  one.session === other.session && one.burst === other.burst;
