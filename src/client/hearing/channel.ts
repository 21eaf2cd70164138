// Keeps the state of one talkgroup: its properties, its talkers, and how much of each the radio received.

import type { EndCode } from '../../protocol/codes.js';
import type { Frame } from '../../protocol/frame.js';
import type { Emergency, Snapshot, TalkEnded, Talker } from '../../protocol/types.js';
import type { Encryption } from '../encryption/encryption.js';
import type { LockKind, Opened } from '../encryption/opening.js';
import { createHeard } from './heard.js';

/** A talkgroup that the radio is subscribed to. The object stays current as long as the subscription lasts. */
export type Talkgroup = Readonly<Properties> & {
  /** By session number. A snapshot has room for 32 running bursts. */
  readonly talkers: ReadonlyMap<number, Talker>;
  /** By session number: how the running burst is protected. */
  readonly locks: ReadonlyMap<number, LockKind>;
  /**
   * Frames that the relay skipped because this radio was too slow, as counted in LAG. Gaps in the sequence do not count:
   * they are pauses, or losses on the talker's side. Frames relayed while the radio was disconnected count only if it was
   * too slow when it lost the connection, and resumed the session.
   */
  readonly missed: number;
  /** Frames that were lost between the nodes, as counted in MISSED. `missed` does not count them. */
  readonly lostBetweenNodes: number;
};

type Properties = Omit<Snapshot, 'talkers' | 'talkers_total' | 'emergencies'>;

/**
 * One frame of another radio. `sequence` is unwrapped. `receivedAtMs` is monotonic. `flags`: START 8, END 4, EMERGENCY 2.
 * The caller may keep `payload`, which is open, and may be empty in a frame with END.
 */
export type HeardFrame = {
  talkgroupId: string;
  session: number;
  burst: number;
  sequence: number;
  flags: number;
  payload: Uint8Array;
  receivedAtMs: number;
};

/**
 * The end of a burst. `heard` of its `frames` reached this radio (0 of its own burst). The radio missed the others, or
 * connected after them. If the radio did not receive the end, the code is `lost` and the relay's counts are absent.
 */
export type HeardEnd = Pick<TalkEnded, 'talkgroup_id' | 'session' | 'burst'> & {
  code: EndCode | 'lost';
  heard: number;
  /** Frames that reached this radio and were not played, because they did not open. Absent: none. */
  unopened?: number;
  /** The burst was encrypted, and its last frame that opened was not the talker's last one. Absent: false. */
  isCutOff?: boolean;
} & Partial<Pick<TalkEnded, 'duration_ms' | 'frames'>>;

/** Receives the events of a channel. */
export type ChannelOwner = {
  audio(frame: HeardFrame): void;
  /** A burst began, or was running when the snapshot was made. */
  talkStarted(talker: Talker): void;
  /** Exactly one follows each talkStarted. */
  talkEnded(end: HeardEnd): void;
};

export type Channel = {
  readonly talkgroup: Talkgroup;
  /** Number of events missed before this one. null: a snapshot already included this event. */
  follow(event: number): number | null;
  change(properties: Partial<Properties>): void;
  take(snapshot: Snapshot): void;
  frame(frame: Frame, receivedAtMs: number): void;
  /** A frame was clear, or opened. */
  opened(opened: Opened): void;
  /** No frame of the session waits for its key any more. */
  released(session: number): void;
  lock(session: number, kind: LockKind): void;
  started(talker: Talker): void;
  ended(end: Omit<HeardEnd, 'heard'>): void;
  missed(frames: number): void;
  lostBetweenNodes(frames: number): void;
  emergency(emergency: Emergency): void;
  /** The radio is not subscribed any more, or has stopped. */
  close(): void;
};

/** Creates the channel of a talkgroup from its first snapshot. The caller then passes the snapshot to `take`. */
export function createChannel(
  first: Snapshot,
  owner: ChannelOwner,
  encryption: Omit<Encryption, 'begin'>,
): Channel {
  const heard = createHeard();
  const talkers = new Map<number, Talker>();
  const locks = new Map<number, LockKind>();
  /** By session: the end of a burst whose last frames wait for their key. */
  const waitingEnds = new Map<number, Omit<HeardEnd, 'heard'>>();
  const talkgroup: { -readonly [Key in keyof Talkgroup]: Talkgroup[Key] } = {
    ...propertiesOf(first),
    talkers,
    locks,
    missed: 0,
    lostBetweenNodes: 0,
  };

  return {
    talkgroup,
    follow(event) {
      const missed = event - talkgroup.event - 1;
      if (missed < 0) return null;
      talkgroup.event = event;
      return missed;
    },
    change(properties) {
      Object.assign(talkgroup, properties);
    },
    take,
    frame(frame, receivedAtMs) {
      encryption.frame(talkgroup.talkgroup_id, { frame, sequence: heard.frame(frame), receivedAtMs });
    },
    opened({ frame, sequence, receivedAtMs }) {
      const { sender: session, burst, flags, payload } = frame;
      const { talkgroup_id: talkgroupId } = talkgroup;
      owner.audio({ talkgroupId, session, burst, sequence, flags, payload, receivedAtMs });
    },
    released(session) {
      const end = waitingEnds.get(session);
      if (end) finish(end);
    },
    lock(session, kind) {
      if (talkers.has(session)) locks.set(session, kind);
    },
    started,
    ended,
    missed(frames) {
      talkgroup.missed += frames;
    },
    lostBetweenNodes(frames) {
      talkgroup.lostBetweenNodes += frames;
    },
    emergency,
    close() {
      for (const talker of [...talkers.values()]) lose(talker);
    },
  };

  function take(snapshot: Snapshot): void {
    Object.assign(talkgroup, propertiesOf(snapshot));
    for (const talker of [...talkers.values()]) {
      const isRunning = snapshot.talkers.some(
        (now) => now.session === talker.session && now.burst === talker.burst,
      );
      if (!isRunning && !waitingEnds.has(talker.session)) lose(talker);
    }
    for (const { frames, sequence, ...talker } of snapshot.talkers) {
      heard.found({ ...talker, sequence });
      if (talkers.has(talker.session)) talkers.set(talker.session, talker);
      else started(talker);
    }
  }

  function started(talker: Talker): void {
    const before = talkers.get(talker.session);
    if (before) lose(before);
    talkers.set(talker.session, talker);
    owner.talkStarted(talker);
    const { talkgroup_id: talkgroupId, session, burst, user_id: userId, crypto } = talker;
    encryption.started({ talkgroupId, session, burst, userId, crypto });
  }

  function ended(end: Omit<HeardEnd, 'heard'>): void {
    if (encryption.isHolding(end.talkgroup_id, end.session)) waitingEnds.set(end.session, end);
    else finish(end);
  }

  function finish(end: Omit<HeardEnd, 'heard'>): void {
    waitingEnds.delete(end.session);
    locks.delete(end.session);
    const { unopened, isCutOff } = encryption.ended(end.talkgroup_id, end.session);
    const frames = heard.ended(end);
    // False for a burst that the snapshot had no room for.
    if (!talkers.delete(end.session)) return;
    owner.talkEnded({
      ...{ ...end, heard: frames },
      ...(unopened > 0 && { unopened }),
      ...(isCutOff && { isCutOff }),
    });
  }

  function lose({ talkgroup_id, session, burst }: Talker): void {
    finish(waitingEnds.get(session) ?? { talkgroup_id, session, burst, code: 'lost' });
  }

  /** An emergency gives its user's running bursts priority 7, and 1 when cleared. The relay announces neither separately. */
  function emergency({ user_id, state }: Emergency): void {
    const now = state === 'cleared' ? { emergency: false, priority: 1 } : { emergency: true, priority: 7 };
    for (const [session, talker] of talkers) {
      if (talker.user_id === user_id) talkers.set(session, { ...talker, ...now });
    }
  }
}

function propertiesOf({ talkers, talkers_total, emergencies, ...properties }: Snapshot): Properties {
  return properties;
}
