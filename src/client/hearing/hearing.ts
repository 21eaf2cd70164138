// Keeps a radio's talkgroups up to date from snapshots and events, and passes received frames on.

import { decodeFrames } from '../../protocol/bundle.js';
import type {
  Emergency,
  Member,
  Ref,
  ServerMessage,
  ServerMessageOf,
  Snapshot,
  Welcome,
} from '../../protocol/types.js';
import { isWhole } from '../connection/parse.js';
import type { Encryption } from '../encryption/encryption.js';
import type { LockKind, Opened } from '../encryption/opening.js';
import { type Channel, type ChannelOwner, createChannel, type Talkgroup } from './channel.js';

/** The relay skipped `missed` frames of a talkgroup within `sinceMs`, because this radio was too slow. */
export type Lag = { talkgroupId: string; missed: number; sinceMs: number };

/** `missed` frames of a burst were lost between the talker's node and this radio's. Audio not played yet stays valid. */
export type Missed = { talkgroupId: string; session: number; burst: number; missed: number };

/**
 * Sessions that came and went in the last second. `isIncomplete`: there were more than the server names, so both lists
 * are empty. `members` returns all sessions.
 */
export type Presence = {
  talkgroup_id: string;
  joined: Member[];
  left: number[];
  online: number;
  isIncomplete: boolean;
};

/** Receives the events of all talkgroups. */
export type HearingOwner = ChannelOwner & {
  lagged(lag: Lag): void;
  missed(missed: Missed): void;
  /** Open emergencies of the talkgroup: all, or the newest. */
  emergencies(snapshot: Snapshot): void;
  emergency(emergency: Emergency): void;
  presence(presence: Presence): void;
  /** The set of talkgroups changed, or a property of one other than its talkers. */
  talkgroupsChanged(): void;
  /** Events of the talkgroup were missed. */
  gap(talkgroupId: string): void;
  /** A snapshot arrived with the state of the talkgroup. */
  renewed(talkgroupId: string): void;
  /** The radio is not subscribed to the talkgroup any more. */
  left(talkgroupId: string): void;
};

export type Hearing = {
  readonly talkgroups: ReadonlyMap<string, Talkgroup>;
  /** The talkgroup is not known, and the server has not yet sent all parts of the snapshots. */
  isAwaited(talkgroupId: string): boolean;
  /** A connection begins. Talkgroups that are neither in WELCOME nor in a later part are dropped. */
  connected(welcome: Welcome): void;
  message(message: ServerMessage): void;
  frame(bytes: Uint8Array, receivedAtMs: number): void;
  /** A frame was clear, or opened. */
  opened(talkgroupId: string, opened: Opened): void;
  /** No frame of the session waits for its key any more. */
  released(talkgroupId: string, session: number): void;
  lock(talkgroupId: string, lock: { session: number; kind: LockKind }): void;
  /** The radio is not subscribed to these talkgroups any more. */
  leave(talkgroupIds: string[]): void;
  /** The radio has stopped for good. Ends all bursts. */
  stop(): void;
};

type NumberedEvent = ServerMessageOf<'TALK_STARTED' | 'TALK_ENDED' | 'KEY_ROTATED' | 'EMERGENCY'>;

/** Creates the state of a radio that knows no talkgroup yet. */
export function createHearing(owner: HearingOwner, encryption: Omit<Encryption, 'begin'>): Hearing {
  const channels = new Map<string, Channel>();
  const byNumber = new Map<number, Channel>();
  const talkgroups = new Map<string, Talkgroup>();
  /** Known from an earlier connection, and not yet in a snapshot of this one. */
  const unconfirmed = new Set<string>();
  /** Another part of the snapshots follows (docs/protocol.md, section 3, Snapshots in parts). */
  let hasMore = false;

  return {
    talkgroups,
    isAwaited: (talkgroupId) => hasMore && !channels.has(talkgroupId),
    connected,
    message,
    frame,
    opened: (talkgroupId, opened) => channels.get(talkgroupId)?.opened(opened),
    released: (talkgroupId, session) => channels.get(talkgroupId)?.released(session),
    lock: (talkgroupId, { session, kind }) => channels.get(talkgroupId)?.lock(session, kind),
    leave,
    stop() {
      for (const channel of channels.values()) channel.close();
    },
  };

  function message(message: ServerMessage): void {
    switch (message.type) {
      case 'TALK_STARTED':
      case 'TALK_ENDED':
      case 'KEY_ROTATED':
      case 'EMERGENCY':
        follow(message, channels.get(message.talkgroup_id));
        break;
      case 'SUBSCRIBED':
        hasMore = message.more;
        takeAll(message.talkgroups);
        if (!hasMore) completed();
        break;
      case 'SYNCED':
      case 'TALKGROUP_JOINED':
        takeAll([bodyOf(message)]);
        break;
      case 'TALKGROUP_LEFT':
        leave([message.talkgroup_id]);
        break;
      case 'TALKGROUP_CHANGED':
        encryption.follow(message.talkgroup_id, message, { isRotation: false });
        channels.get(message.talkgroup_id)?.change(bodyOf(message));
        owner.talkgroupsChanged();
        break;
      case 'PRESENCE':
        channels.get(message.talkgroup_id)?.change({ online: message.online });
        owner.presence(presenceIn(bodyOf(message)));
        break;
      case 'LAG':
        lag(message);
        break;
      case 'MISSED': {
        const { talkgroup_id: talkgroupId, ...missed } = bodyOf(message);
        channels.get(talkgroupId)?.lostBetweenNodes(missed.missed);
        owner.missed({ talkgroupId, ...missed });
      }
    }
  }

  function follow(message: NumberedEvent, channel: Channel | undefined): void {
    // Event numbers of an earlier connection cannot be compared. The snapshot that follows has the current one.
    if (!channel || unconfirmed.has(message.talkgroup_id)) return;
    const missed = channel.follow(message.event);
    if (missed === null) return;
    if (missed > 0) owner.gap(message.talkgroup_id);
    switch (message.type) {
      case 'TALK_STARTED':
        channel.started(withoutEvent(bodyOf(message)));
        break;
      case 'TALK_ENDED':
        channel.ended(withoutEvent(bodyOf(message)));
        break;
      case 'KEY_ROTATED':
        encryption.follow(message.talkgroup_id, message, { isRotation: true });
        channel.change(bodyOf(message));
        owner.talkgroupsChanged();
        break;
      case 'EMERGENCY': {
        const emergency = withoutEvent(bodyOf(message));
        channel.emergency(emergency);
        owner.emergency(emergency);
      }
    }
  }

  function frame(bytes: Uint8Array, receivedAtMs: number): void {
    const frames = decodeFrames(bytes, Number.POSITIVE_INFINITY);
    // A kind of frame that only a newer server would send.
    if (typeof frames === 'string') return;
    // A frame may still arrive after the radio unsubscribed.
    for (const frame of frames) byNumber.get(frame.talkgroup)?.frame(frame, receivedAtMs);
  }

  function lag({ talkgroups, since_ms: sinceMs }: ServerMessageOf<'LAG'>): void {
    for (const { talkgroup_id: talkgroupId, missed } of talkgroups) {
      channels.get(talkgroupId)?.missed(missed);
      owner.lagged({ talkgroupId, missed, sinceMs });
    }
  }

  function connected(welcome: Welcome): void {
    for (const id of channels.keys()) unconfirmed.add(id);
    hasMore = !isWhole(welcome);
    takeAll(welcome.talkgroups);
    if (!hasMore) completed();
  }

  /** No further snapshot is expected for now. */
  function completed(): void {
    if (unconfirmed.size > 0) leave([...unconfirmed]);
  }

  function takeAll(snapshots: Snapshot[]): void {
    for (const snapshot of snapshots) {
      encryption.follow(snapshot.talkgroup_id, snapshot, { isRotation: false });
      const channel = channels.get(snapshot.talkgroup_id) ?? add(snapshot);
      unconfirmed.delete(snapshot.talkgroup_id);
      channel.take(snapshot);
      owner.emergencies(snapshot);
      owner.renewed(snapshot.talkgroup_id);
    }
    owner.talkgroupsChanged();
  }

  function add(snapshot: Snapshot): Channel {
    const channel = createChannel(snapshot, owner, encryption);
    channels.set(snapshot.talkgroup_id, channel);
    byNumber.set(snapshot.number, channel);
    talkgroups.set(snapshot.talkgroup_id, channel.talkgroup);
    return channel;
  }

  function leave(talkgroupIds: string[]): void {
    for (const id of talkgroupIds) drop(id);
    owner.talkgroupsChanged();
  }

  function drop(talkgroupId: string): void {
    unconfirmed.delete(talkgroupId);
    const channel = channels.get(talkgroupId);
    if (!channel) return;
    channel.close();
    channels.delete(talkgroupId);
    byNumber.delete(channel.talkgroup.number);
    talkgroups.delete(talkgroupId);
    owner.left(talkgroupId);
  }
}

const presenceIn = ({ joined, left, ...presence }: Omit<ServerMessageOf<'PRESENCE'>, 'type'>): Presence => ({
  ...presence,
  joined: joined ?? [],
  left: left ?? [],
  isIncomplete: joined === undefined || left === undefined,
});

function bodyOf<Message extends ServerMessage & { ref?: Ref }>({
  type,
  ref,
  ...body
}: Message): Omit<Message, 'type' | 'ref'> {
  return body;
}

function withoutEvent<Body extends { event: number }>({ event, ...rest }: Body): Omit<Body, 'event'> {
  return rest;
}
