// Runs one radio without time and network: the test moves the clock and plays the relay's end of the sockets.

import type { Clock } from '../../../src/client/clock.js';
import type { RadioSocket } from '../../../src/client/connection/connection.js';
import type { KeyStore } from '../../../src/client/encryption/key-store.js';
import { createRadio } from '../../../src/client/radio.js';
import { decodeFrame, encodeFrame, type Frame } from '../../../src/protocol/frame.js';
import type {
  Emergency,
  ServerMessage,
  Snapshot,
  TalkEnded,
  Talker,
  Welcome,
} from '../../../src/protocol/types.js';
import { faultIn } from '../relay/heard-message.js';

/** A clock that only `pass` moves. Timers run in order, each at its own time. */
export function manualClock(): Clock & { pass(ms: number): void; readonly pending: number } {
  let nowMs = 1_000;
  const timers = new Set<{ atMs: number; run: () => void }>();
  return {
    nowMs: () => nowMs,
    after(delayMs, run) {
      const timer = { atMs: nowMs + delayMs, run };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    pass(ms) {
      const untilMs = nowMs + ms;
      for (;;) {
        const [next] = [...timers].filter(({ atMs }) => atMs <= untilMs).sort((a, b) => a.atMs - b.atMs);
        if (!next) break;
        timers.delete(next);
        nowMs = Math.max(nowMs, next.atMs);
        next.run();
      }
      nowMs = untilMs;
    },
    get pending() {
      return timers.size;
    },
  };
}

/** The relay's end of one socket. The test sends and reads its messages. */
export type FakeSocket = {
  readonly address: string;
  /** What the radio sent, in order. */
  readonly texts: Record<string, unknown>[];
  readonly frames: Frame[];
  /** Both, in the order in which they were sent. */
  readonly sends: (Record<string, unknown> | Frame)[];
  /** The code that the radio closed with. null: without a code. undefined: not closed. */
  closedWith: number | null | undefined;
  /** Bytes that the socket has not sent, as the radio reads them. */
  bufferedAmount: number;
  /** Delivers any data to the radio, valid or not. */
  delivers(data: unknown): void;
  says(message: ServerMessage): void;
  welcomes(over?: Partial<Welcome>): void;
  relays(frame: Partial<Frame> & Pick<Frame, 'sequence' | 'talkgroup' | 'payload'>): void;
  closes(code: number, reason?: string): void;
};

type SocketEvent = { data: unknown; code: number; reason: string };

/** A WebSocket constructor, and the sockets that it created. */
export function fakeNetwork(): { WebSocket: new (address: string) => RadioSocket; sockets: FakeSocket[] } {
  const sockets: FakeSocket[] = [];
  class WebSocket implements RadioSocket, FakeSocket {
    binaryType = 'blob';
    bufferedAmount = 0;
    closedWith: number | null | undefined = undefined;
    readonly texts: Record<string, unknown>[] = [];
    readonly frames: Frame[] = [];
    readonly sends: (Record<string, unknown> | Frame)[] = [];
    readonly listeners: [type: string, listener: (event: SocketEvent) => void][] = [];
    constructor(readonly address: string) {
      sockets.push(this);
    }
    addEventListener(type: string, listener: (event: SocketEvent) => void): void {
      this.listeners.push([type, listener]);
    }
    dispatch(type: string, event: Partial<SocketEvent>): void {
      for (const [heard, listener] of this.listeners) {
        if (heard === type) listener({ data: '', code: 0, reason: '', ...event });
      }
    }
    delivers(data: unknown): void {
      this.dispatch('message', { data });
    }
    send(data: string | Uint8Array<ArrayBuffer>): void {
      if (typeof data === 'string') {
        const text = JSON.parse(data);
        this.texts.push(text);
        this.sends.push(text);
      } else {
        const frame = decodeFrame(data);
        if (typeof frame === 'string') throw new Error(`the radio sent a bad frame: ${frame}`);
        this.frames.push(frame);
        this.sends.push(frame);
      }
    }
    close(code?: number): void {
      this.closedWith = code ?? null;
    }
    says(message: ServerMessage): void {
      const fault = faultIn(message);
      if (fault !== null) throw new Error(fault);
      this.delivers(JSON.stringify(message));
    }
    welcomes(over: Partial<Welcome> = {}): void {
      this.says({
        ...{
          type: 'WELCOME',
          protocol: 1,
          session: OWN,
          user_id: idOf('u-own'),
          username: 'own',
          device_id: null,
        },
        ...{ resume_token: `token-${sockets.length}`, resumed: false, server_time: 0 },
        limits: {
          ...{ frame_bytes: 1024, frames_per_second: 110, user_frames_per_second: 220 },
          ...{ user_bytes_per_second: 65_536, talks_per_user: 2, talkers_max: 32 },
          ...{ text_bytes: 8192, backlog_ms: 1000 },
        },
        ...{ talkgroups: [ALPHA], talkgroups_total: over.talkgroups?.length ?? 1 },
        ...over,
      });
    }
    relays(frame: Partial<Frame> & Pick<Frame, 'sequence' | 'talkgroup' | 'payload'>): void {
      this.delivers(encodeFrame(frame).buffer);
    }
    closes(code: number, reason = ''): void {
      this.dispatch('close', { code, reason });
    }
  }
  return { WebSocket, sockets };
}

/** A radio with such a clock and such sockets. `random` is constant. */
export function fakeWorld({
  random = () => 0,
  ...options
}: {
  random?: () => number;
  url?: string;
  keys?: KeyStore;
  recallSeconds?: number;
} = {}) {
  const clock = manualClock();
  const { WebSocket, sockets } = fakeNetwork();
  const radio = createRadio({ url: 'ws://relay', token: 'x/y', WebSocket, clock, random, ...options });
  return {
    clock,
    radio,
    sockets,
    /** The one the radio opened last. */
    socket(): FakeSocket {
      const last = sockets.at(-1);
      if (!last) throw new Error('the radio opened no socket');
      return last;
    },
  };
}

/** An Opus packet of 20 ms (SILK). `n` tells packets apart. */
export const packet = (n: number) => Uint8Array.of(0x08, n);

/** What the radio sent on this socket: of each frame the flags, the sequence and the bytes of the payload. */
export const sentBy = ({ frames }: FakeSocket) =>
  frames.map(({ flags, sequence, payload }) => [flags, sequence, ...payload]);

/** Lets all promises settle that wait for other promises only. */
export const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** The UUID of this name, always the same. */
export function idOf(name: string): string {
  const hex = Buffer.from(name).toString('hex').padStart(32, '0');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

/** The name of a UUID of `idOf`. */
export const nameOf = (id: string) =>
  Buffer.from(id.replaceAll('-', ''), 'hex').toString().replace(/^\0+/, '');

/** The session number of the radio under test. */
export const OWN = 7;

export const ALPHA: Snapshot = {
  talkgroup_id: idOf('tg-alpha'),
  number: 1,
  name: 'Alpha',
  rotation_counter: 0,
  encryption: 'allowed',
  clear_emergency: true,
  recording_days: 0,
  talk_counter: 0,
  use_in_ms: 0,
  may_have_keys: false,
  floor_mode: 'open',
  max_talk_ms: 60_000,
  event: 0,
  talkers: [],
  talkers_total: 0,
  emergencies: [],
  emergencies_total: 0,
  online: 1,
};

export const BRAVO: Snapshot = { ...ALPHA, talkgroup_id: idOf('tg-bravo'), number: 2, name: 'Bravo' };

/** A running burst of another user in Alpha. */
export const talker = (over: Partial<Talker> = {}): Talker => ({
  talkgroup_id: ALPHA.talkgroup_id,
  session: 20,
  burst: 1,
  user_id: idOf('u-other'),
  username: 'other',
  priority: 1,
  emergency: false,
  started_at: '2026-01-01T00:00:00.000Z',
  ...over,
});

/** The beginning of the burst of `talker()`. */
export const talkStart = ({ event = 1, ...over }: Partial<Talker & { event: number }> = {}) => ({
  ...{ type: 'TALK_STARTED' as const, event },
  ...talker(over),
});

/** The end of the burst of `talker()`. */
export const talkEnd = (over: Partial<TalkEnded> = {}): TalkEnded => ({
  ...{ type: 'TALK_ENDED', talkgroup_id: ALPHA.talkgroup_id, event: 2, session: 20, burst: 1 },
  ...{ code: 'released', duration_ms: 60, frames: 3 },
  ...over,
});

/** An emergency of another user in Alpha. */
export const emergency = (over: Partial<Emergency> = {}): Emergency => ({
  ...{
    emergency_id: idOf('em-1'),
    talkgroup_id: ALPHA.talkgroup_id,
    user_id: idOf('u-other'),
    username: 'other',
  },
  ...{ state: 'raised', raised_at: '2026-01-01T00:00:00.000Z' },
  ...over,
});

/** KEY_ROTATED with a counter that is used from now on. */
export const keyRotated = (talkgroup_id: string, event: number, rotation_counter: number) =>
  ({
    type: 'KEY_ROTATED',
    ...{ talkgroup_id, event, rotation_counter },
    talk_counter: rotation_counter,
    use_in_ms: 0,
  }) as const;
