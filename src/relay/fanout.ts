// Fan-out: one topic for a talkgroup's audio, one for its events; the engine copies to each subscriber.
import type { Crowd } from './crowd.js';
import { flushHeld } from './held.js';
import type { Talkgroup, User } from './members.js';
import type { Session } from './session.js';

/** What of the engine publishes; the listener hands it over, and encodes text. */
export interface Publisher {
  /** To every subscriber of the topic. */
  publish(topic: string, message: string | ArrayBuffer, isBinary: boolean): boolean;
  numSubscribers(topic: string): number;
}

/** One socket as a session sees it; the engine's WebSocket has this shape. */
export interface Peer {
  /**
   * 1: written, 0: in the engine's buffer, DROPPED: the buffer is full. Text is passed as bytes: on Node 24 the engine
   * writes some strings as Latin-1 (ENGINE.md), and a client drops a connection whose text is not UTF-8.
   */
  send(message: Buffer | ArrayBuffer, isBinary: boolean): number;
  /** A ping of the WebSocket, behind everything written before; answers like `send`. The text must be ASCII. */
  ping(message: string): number;
  /** To every subscriber of the topic but this socket; only from a socket that subscribes to something itself. */
  publish(topic: string, message: ArrayBuffer, isBinary: boolean): boolean;
  /** true: it was not subscribed before. */
  subscribe(topic: string): boolean;
  /** true: it was subscribed. */
  unsubscribe(topic: string): boolean;
  /** What the engine keeps for the socket: its messages go to this session, null: nowhere. */
  getUserData(): { session: Session | null };
  /** The reason must be ASCII. */
  end(code: number, reason: string): void;
}

/** What sends and pings answer when the engine's buffer for the socket is full. */
export const DROPPED = 2;

/** Every session subscribes to it, so that it may publish while it is in no talkgroup's audio topic. */
export const SERVICE_TOPIC = 's';

export interface Fanout {
  /** The stamped frame to every other subscriber of the talkgroup's audio. */
  audio(from: Peer, talkgroup: Talkgroup, frame: ArrayBuffer, nowMs: number): void;
  /** The same behind a wait, to the subscribers of that topic; a talker without a socket is not among them anyway. */
  held(from: Peer | null, topic: string, message: ArrayBuffer): void;
  /** How many subscribe to it. */
  hearers(topic: string): number;
  // What is said of a talkgroup leaves behind all audio relayed before it, whoever that is held for.
  /** The message to every member here, the talker too; `make` gets the number of this event. */
  event(talkgroup: Talkgroup, make: (event: number) => string): void;
  /** To every member here; not an event, so it carries no number. */
  tell(talkgroup: Talkgroup, message: string): void;
  /** To those members here who asked to hear who comes and goes. */
  presence(talkgroup: Talkgroup, message: string): void;
  /** How many did. */
  watchers(talkgroup: Talkgroup): number;
  /** To every session of this relay. */
  all(message: string): void;
  /** false: the engine has written, or dropped, every text published so far to the user's talkgroups and to all. */
  mayDropText(user: User): boolean;
  /** Sessions that hear the talkgroup's events. */
  online(talkgroup: Talkgroup): number;
}

export function createFanout(publisher: Publisher, crowd: Pick<Crowd, 'isThick'>): Fanout {
  const all = { textsUnwritten: 0 };

  function publishText(topic: string, message: string, to: { textsUnwritten: number }): void {
    // Before the engine has it: a big one is written, or dropped, at once.
    to.textsUnwritten++;
    // Node runs it behind the engine's own part of a turn of the loop, in which everything published is written.
    setImmediate(written, to);
    publisher.publish(topic, message, false);
  }

  return {
    audio(from, talkgroup, frame, nowMs) {
      if (!crowd.isThick(nowMs)) from.publish(talkgroup.audioTopic, frame, true);
      // What was published to a receiver before, the engine sends before this.
      else for (const reception of talkgroup.live) reception.give(frame, from);
    },
    held(from, topic, message) {
      if (from === null) publisher.publish(topic, message, true);
      else from.publish(topic, message, true);
    },
    hearers: (topic) => publisher.numSubscribers(topic),
    event(talkgroup, make) {
      flushHeld(talkgroup);
      talkgroup.event++;
      publishText(talkgroup.eventTopic, make(talkgroup.event), talkgroup);
    },
    tell(talkgroup, message) {
      flushHeld(talkgroup);
      publishText(talkgroup.eventTopic, message, talkgroup);
    },
    presence(talkgroup, message) {
      publishText(talkgroup.presenceTopic, message, talkgroup);
    },
    watchers: (talkgroup) => publisher.numSubscribers(talkgroup.presenceTopic),
    all(message) {
      publishText(SERVICE_TOPIC, message, all);
    },
    mayDropText({ memberships }) {
      if (all.textsUnwritten > 0) return true;
      // Also those withdrawn or unsubscribed: a text may have been published before that, in the same turn.
      for (const { talkgroup } of memberships.values()) if (talkgroup.textsUnwritten > 0) return true;
      return false;
    },
    online: (talkgroup) => publisher.numSubscribers(talkgroup.eventTopic),
  };
}

function written(to: { textsUnwritten: number }): void {
  to.textsUnwritten--;
}
