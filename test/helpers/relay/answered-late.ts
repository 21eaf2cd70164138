// A relay without an engine whose clock the test winds, and radios on it that keep all that they hear.
import { noticeOf } from '../../../src/db/notice.js';
import type { TalkgroupId, UserId } from '../../../src/ids.js';
import type { FloorMode } from '../../../src/protocol/codes.js';
import { decodeFrame, END, encodeFrame, START } from '../../../src/protocol/frame.js';
import type { Peer } from '../../../src/relay/delivery/peer.js';
import type { Session } from '../../../src/relay/session/session.js';
import { NO_TIMER } from './clocks.js';
import { createLateAuthority, type LateAuthority } from './late-authority.js';
import { NOWHERE, relayAlone } from './relay-alone.js';
import { accountRow, talkgroupRow } from './rows.js';

export type Json = { readonly type: string; readonly [key: string]: unknown };
export interface HeardFrame {
  readonly type: 'frame';
  readonly sender: number;
  readonly burst: number;
  readonly text: string;
  readonly start: boolean;
  readonly end: boolean;
}

export const idOf = (number: number) =>
  `00000000-0000-4000-8000-${String(number).padStart(12, '0')}` as TalkgroupId;
const TALKGROUPS = 9;

export type Scene = ReturnType<typeof sceneOf>;
export type SceneRadio = Awaited<ReturnType<Scene['radio']>>;

/** `isLate`: first frames and requests are answered when the test says so. */
export function sceneOf({ isLate, mode = 'single' }: { isLate: boolean; mode?: FloorMode }) {
  let nowMs = 100_000;
  let number = 0;
  let authority: LateAuthority | null = null;
  const memberships = Array.from({ length: TALKGROUPS }, (_, index) =>
    talkgroupRow({ id: idOf(index + 1), number: index + 1, name: '', floor_mode: mode, max_talk_ms: 30_000 }),
  );
  const members = new Set<string>();
  const topics = new Map<string, Set<Peer>>();
  const inboxes = new Map<Peer, (Json | HeardFrame)[]>();
  const failed: string[] = [];

  function deliver(topic: string, message: string | ArrayBuffer, but: Peer | null): boolean {
    for (const peer of topics.get(topic) ?? []) if (peer !== but) inboxes.get(peer)?.push(readable(message));
    return true;
  }

  /** The steady timers of the relay. Each `pass` is one period of theirs. */
  const steady: (() => void)[] = [];
  const relay = relayAlone(
    { fail: (...what: unknown[]) => failed.push(String(what[0])) > 0 },
    {
      reads: {
        accountsOf: async (ids) =>
          ids.map((id) =>
            accountRow(id, {
              role: id.startsWith('chief') ? 'admin' : 'user',
              memberships: members.has(id) ? memberships : [],
            }),
          ),
        talkgroupsOf: async () => memberships,
      },
      takeNumber: () => ++number,
      publisher: {
        publish: (topic, message) => deliver(topic, message, null),
        numSubscribers: (topic) => topics.get(topic)?.size ?? 0,
      },
      clock: {
        nowMs: () => nowMs,
        every(_periodMs, run) {
          steady.push(run);
          return NO_TIMER;
        },
      },
      limits: { resumeMs: 10_000, sessionsParked: 10 },
      ...(isLate && {
        authorityOf: (options) => {
          authority = createLateAuthority(options, undefined, () => nowMs);
          return authority;
        },
      }),
    },
  );

  async function radio(name: string) {
    members.add(name);
    const inbox: (Json | HeardFrame)[] = [];
    let token: string | null = null;
    let peer: Peer | null = null;
    let spoken = 0;

    const leave = () => {
      for (const subscribers of topics.values()) if (peer !== null) subscribers.delete(peer);
    };
    async function connect(): Promise<Session> {
      let session: Session | null = null;
      const own: Peer = {
        send: (message) => inbox.push(readable(message)) && 1,
        publish: (topic, message) => deliver(topic, message, own),
        ping(text) {
          setImmediate(() => session?.ponged(bytesOf(text)));
          return 1;
        },
        subscribe(topic) {
          const peers = topics.get(topic) ?? new Set();
          const isNew = !peers.has(own);
          topics.set(topic, peers.add(own));
          return isNew;
        },
        unsubscribe: (topic) => topics.get(topic)?.delete(own) ?? false,
        getUserData: () => ({ session: null }),
        end: leave,
      };
      leave();
      peer = own;
      inboxes.set(own, inbox);
      session = await new Promise<Session>((resolve, reject) => {
        relay.admit(
          { claims: { sub: name as UserId, iat: 0 }, resume: token, from: NOWHERE },
          (admission) => {
            if ('close' in admission) return reject(new Error(admission.close.reason));
            relay.open(admission, own);
            resolve(admission.session);
          },
        );
      });
      const welcome = inbox.findLast((one) => one.type === 'WELCOME') as Json;
      token = String(welcome.resume_token);
      return session;
    }
    let session = await connect();

    return {
      name,
      get session() {
        return session;
      },
      inbox,
      talk: (talkgroup = 1) => session.talkAt(talkgroup),
      /** The text of each frame is its number. */
      speaks({ talkgroup = 1, start = false, end = false, empty = false } = {}): boolean {
        const payload = Buffer.from(empty ? '' : String(++spoken));
        const flags = (start ? START : 0) | (end ? END : 0);
        return session.receiveAudio(encodeFrame({ flags, sequence: spoken, talkgroup, payload }).buffer);
      },
      says: (message: Json) => session.receiveText(bytesOf(JSON.stringify(message))),
      /** What came since the last call, without what tells the time and what a resume says anyway. */
      heard: () => inbox.splice(0).filter(({ type }) => type !== 'WELCOME'),
      breaks(): void {
        leave();
        session.closed(1006);
      },
      async returns(): Promise<void> {
        session = await connect();
      },
      closes(): void {
        leave();
        session.closed(1000);
      },
      /** Leaves all of them. The notification names this one. */
      async leavesTalkgroups(named: number): Promise<void> {
        members.delete(name);
        await relay.noticed(noticeOf({ kind: 'left', user: name as UserId, talkgroup: idOf(named) }));
      },
    };
  }

  return {
    relay,
    radio,
    failed,
    setMode(next: FloorMode) {
      for (const row of memberships) Object.assign(row, { floor_mode: next });
      return relay.noticed(noticeOf({ kind: 'talkgroup_changed', talkgroup: idOf(1) }));
    },
    open: () => authority?.open() ?? 0,
    answer: () => authority?.answer(),
    giveUp: (retryMs: number) => authority?.giveUp(retryMs),
    /** Answers all that is asked, and what is asked then. */
    answerAll(): void {
      while ((authority?.open() ?? 0) > 0) authority?.answer();
    },
    /** Without the relay's timers. */
    wait(ms: number): void {
      nowMs += ms;
    },
    async pass(ms: number): Promise<void> {
      nowMs += ms;
      for (const run of steady) run();
      await new Promise((resolve) => setImmediate(resolve));
      await new Promise((resolve) => setImmediate(resolve));
    },
    /** Frames and why the relay did not relay them. */
    frames() {
      const { framesIn, framesRelayed, dropped } = relay.counts;
      return { framesIn, framesRelayed, dropped };
    },
  };
}

const bytesOf = (text: string) => new Uint8Array(Buffer.from(text)).buffer;

function readable(message: string | Buffer | ArrayBuffer): Json | HeardFrame {
  if (typeof message === 'string') return timeless(JSON.parse(message));
  if (Buffer.isBuffer(message)) return timeless(JSON.parse(message.toString()));
  const frame = decodeFrame(new Uint8Array(message));
  if (typeof frame === 'string') throw new Error(`a bad frame: ${frame}`);
  const { sender, burst, payload, flags } = frame;
  const text = Buffer.from(payload).toString();
  return { type: 'frame', sender, burst, text, start: (flags & START) !== 0, end: (flags & END) !== 0 };
}

/** Two relays never tell the same time. */
function timeless(message: Json): Json {
  const shown = JSON.stringify(message, (key, value) => (key === 'started_at' ? undefined : value));
  return JSON.parse(shown);
}
