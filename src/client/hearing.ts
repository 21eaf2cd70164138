// What one radio knows and hears: its talkgroups, who talks in them, and the frames in running order.
import { decodeFrame, type Frame, unwrapSequence } from '../relay/frame.js';
import type { ServerMessage, Snapshot, TalkEnded, Talker } from './messages.js';

/** A talkgroup as it is now; the object lives as long as the membership and is kept current. */
export type Talkgroup = Readonly<Omit<Snapshot, 'talkers' | 'talkers_total'>> & {
  /** By session number; the server names 32 at most to one that comes late. */
  readonly talkers: ReadonlyMap<number, Talker>;
};

/** One frame of somebody else; `sequence` is unwrapped, `receivedAtMs` monotonic, `payload` the caller's to keep. */
export type HeardFrame = {
  talkgroupId: string;
  session: number;
  burst: number;
  sequence: number;
  flags: number;
  payload: Uint8Array;
  receivedAtMs: number;
};

/** The end of a burst; code `lost` and no counts when we ceased to hear of it (connection, membership) before it ended. */
export type HeardEnd = Pick<TalkEnded, 'talkgroup_id' | 'session' | 'burst' | 'code'> &
  Partial<Pick<TalkEnded, 'duration_ms' | 'frames'>>;

/** Where what is heard is reported. */
export type HearingOwner = {
  audio(frame: HeardFrame): void;
  /** A burst began, or was found running on arrival. */
  talkStarted(talker: Talker): void;
  /** Every talkStarted gets exactly one. */
  talkEnded(end: HeardEnd): void;
  /** The set of talkgroups changed, or what is known of one other than its talkers. */
  talkgroupsChanged(): void;
};

export type Hearing = {
  readonly talkgroups: ReadonlyMap<string, Talkgroup>;
  /** Takes what WELCOME says as the whole truth. */
  welcome(snapshots: Snapshot[]): void;
  message(message: ServerMessage): void;
  frame(bytes: Uint8Array, receivedAtMs: number): void;
  /** Nothing more will be heard. */
  stop(): void;
};

type Channel = Omit<Snapshot, 'talkers' | 'talkers_total'> & {
  talkers: Map<number, Talker>;
  /** The last sequence heard of each session, in the burst it belongs to. */
  heard: Map<number, { burst: number; sequence: number }>;
};

/** A radio that knows no talkgroup yet. */
export function createHearing(owner: HearingOwner): Hearing {
  const channels = new Map<string, Channel>();
  const channelByNumber = new Map<number, Channel>();

  return { talkgroups: channels, welcome, message, frame, stop };

  function welcome(snapshots: Snapshot[]): void {
    const present = new Set(snapshots.map((snapshot) => snapshot.talkgroup_id));
    for (const channel of [...channels.values()]) if (!present.has(channel.talkgroup_id)) drop(channel);
    for (const snapshot of snapshots) take(snapshot);
    owner.talkgroupsChanged();
  }

  function message(message: ServerMessage): void {
    switch (message.type) {
      case 'TALK_STARTED':
        start(bodyOf(message));
        break;
      case 'TALK_ENDED':
        finish(bodyOf(message));
        break;
      case 'SUBSCRIBED':
        // Unasked for, it holds all our talkgroups: the server could not get a change through to us.
        if (message.ref === undefined) welcome(message.talkgroups);
        break;
      case 'TALKGROUP_JOINED':
        take(bodyOf(message));
        owner.talkgroupsChanged();
        break;
      case 'TALKGROUP_LEFT':
        drop(channels.get(message.talkgroup_id));
        owner.talkgroupsChanged();
        break;
      case 'TALKGROUP_CHANGED':
      case 'KEY_ROTATED':
        Object.assign(channels.get(message.talkgroup_id) ?? {}, bodyOf(message));
        owner.talkgroupsChanged();
        break;
    }
  }

  function frame(bytes: Uint8Array, receivedAtMs: number): void {
    const frame = decodeFrame(bytes, Number.POSITIVE_INFINITY);
    // A kind of frame that only a newer server would send.
    if (typeof frame === 'string') return;
    const channel = channelByNumber.get(frame.talkgroup);
    // What was on its way while we left may still arrive.
    if (!channel) return;
    const sequence = sequenceOf(channel, frame);
    const { sender: session, burst, flags, payload } = frame;
    owner.audio({
      talkgroupId: channel.talkgroup_id,
      session,
      burst,
      sequence,
      flags,
      payload,
      receivedAtMs,
    });
  }

  function sequenceOf(channel: Channel, { sender, burst, sequence }: Frame): number {
    const heard = channel.heard.get(sender);
    if (heard?.burst !== burst) {
      channel.heard.set(sender, { burst, sequence });
      return sequence;
    }
    heard.sequence = unwrapSequence(heard.sequence, sequence);
    return heard.sequence;
  }

  function take(snapshot: Snapshot): void {
    const { talkers, talkers_total, ...rest } = snapshot;
    const channel = channels.get(snapshot.talkgroup_id) ?? add(snapshot);
    Object.assign(channel, rest);
    for (const talker of [...channel.talkers.values()]) {
      if (!talkers.some((now) => now.session === talker.session && now.burst === talker.burst)) lose(talker);
    }
    for (const { frames, sequence, ...talker } of talkers) {
      channel.heard.set(talker.session, { burst: talker.burst, sequence });
      if (!channel.talkers.has(talker.session)) start(talker);
    }
  }

  function add({ talkers, talkers_total, ...rest }: Snapshot): Channel {
    const channel: Channel = { ...rest, talkers: new Map(), heard: new Map() };
    channels.set(channel.talkgroup_id, channel);
    channelByNumber.set(channel.number, channel);
    return channel;
  }

  function drop(channel: Channel | undefined): void {
    if (!channel) return;
    for (const talker of [...channel.talkers.values()]) lose(talker);
    channels.delete(channel.talkgroup_id);
    channelByNumber.delete(channel.number);
  }

  function start(talker: Talker): void {
    const channel = channels.get(talker.talkgroup_id);
    if (!channel) return;
    const before = channel.talkers.get(talker.session);
    if (before) lose(before);
    channel.event = talker.event;
    channel.talkers.set(talker.session, talker);
    owner.talkStarted(talker);
  }

  function finish({ event, ...end }: HeardEnd & { event?: number }): void {
    const channel = channels.get(end.talkgroup_id);
    if (!channel) return;
    channel.event = event ?? channel.event;
    channel.heard.delete(end.session);
    // False for one of the many whose beginning the snapshot had no room for.
    if (channel.talkers.delete(end.session)) owner.talkEnded(end);
  }

  function lose({ talkgroup_id, session, burst }: Talker): void {
    finish({ talkgroup_id, session, burst, code: 'lost' });
  }

  function stop(): void {
    for (const channel of channels.values()) {
      for (const talker of [...channel.talkers.values()]) lose(talker);
    }
  }
}

function bodyOf<Message extends ServerMessage>({ type, ...body }: Message): Omit<Message, 'type'> {
  return body;
}
