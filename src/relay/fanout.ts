// Fan-out: one topic for a talkgroup's audio, one for its events; the engine copies to each subscriber.
import type { Talkgroup } from './members.js';

/** What of the engine publishes; the listener hands it over. */
export interface Publisher {
  /** To every subscriber of the topic. */
  publish(topic: string, message: string, isBinary: boolean): boolean;
  numSubscribers(topic: string): number;
}

/** One socket as a session sees it; the engine's WebSocket has this shape. */
export interface Peer {
  /** 1: written, 0: in the engine's buffer, 2: dropped, the buffer is full. */
  send(message: string, isBinary: boolean): number;
  /** To every subscriber of the topic but this socket; only from a socket that subscribes to something itself. */
  publish(topic: string, message: ArrayBuffer, isBinary: boolean): boolean;
  subscribe(topic: string): boolean;
  unsubscribe(topic: string): boolean;
  end(code: number, reason: string): void;
}

/** Every session subscribes to it, so that it may publish while it is in no talkgroup's audio topic. */
export const SERVICE_TOPIC = 's';

export interface Fanout {
  /** The stamped frame to every other subscriber of the talkgroup's audio. */
  audio(from: Peer, talkgroup: Talkgroup, frame: ArrayBuffer): void;
  /** The message to every member here, the talker too; `make` gets the number of this event. */
  event(talkgroup: Talkgroup, make: (event: number) => string): void;
  /** To every session of this relay. */
  all(message: string): void;
  /** Sessions that hear the talkgroup's events. */
  online(talkgroup: Talkgroup): number;
}

export function createFanout(publisher: Publisher): Fanout {
  return {
    audio(from, talkgroup, frame) {
      from.publish(talkgroup.audioTopic, frame, true);
    },
    event(talkgroup, make) {
      talkgroup.event++;
      publisher.publish(talkgroup.eventTopic, make(talkgroup.event), false);
    },
    all(message) {
      publisher.publish(SERVICE_TOPIC, message, false);
    },
    online: (talkgroup) => publisher.numSubscribers(talkgroup.eventTopic),
  };
}
