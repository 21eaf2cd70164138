// Publishes: audio to a talkgroup's receivers, messages to its members. Each talkgroup has one topic for audio and one for
// events, and uWebSockets.js copies to each subscriber.
import type { Clock } from '../clock.js';
import type { Churn } from './churn.js';
import { type Feed, flushHeld } from './feed.js';
import { type Publisher, SERVICE_TOPIC, type Voice } from './peer.js';

export interface Fanout {
  /** Sends the stamped frame to every other subscriber of the talkgroup's audio. */
  audio(from: Voice, feed: Feed, frame: ArrayBuffer, nowMs: number): void;
  /** Whether `audio` sends to each receiver by itself now, so that no write can be saved. */
  sendsToEach(nowMs: number): boolean;
  /** Stands for a talker without a socket here: its frames reach every subscriber. */
  readonly absent: Voice;
  /** Number of subscribers. */
  hearers(topic: string): number;
  // Messages about a talkgroup are sent after all audio relayed before them, also after buffered audio.
  /** Sends an event to every member here, the talker too. `make` gets the number of the event. */
  event(feed: Feed, make: (event: number) => string): void;
  /** Sends a message without an event number to every member here. */
  tell(feed: Feed, message: string): void;
  /** Sends PRESENCE to the members here that subscribed to it. */
  presence(feed: Feed, message: string): void;
  /** Number of subscribers to PRESENCE. */
  watchers(feed: Feed): number;
  /** Sends a message to every session of this relay. */
  all(message: string): void;
  /**
   * false: uWebSockets.js has written, or dropped, every text published so far to these talkgroups and to all. A caller
   * names also talkgroups that are withdrawn or unsubscribed: a text may have been published before.
   */
  mayDropText(feeds: Iterable<Feed>): boolean;
  /** Number of sessions that get the talkgroup's events, here and at other relays. */
  online(feed: Feed): number;
  /** The same at this relay. */
  onlineHere(feed: Feed): number;
}

export function createFanout(
  publisher: Publisher,
  churn: Pick<Churn, 'isHigh'>,
  clock: Pick<Clock, 'soon'>,
): Fanout {
  const all = { textsUnwritten: 0 };

  function publishText(topic: string, message: string, to: { textsUnwritten: number }): void {
    // Counted first: uWebSockets.js writes or drops a big message at once.
    to.textsUnwritten++;
    // The clock runs it after the part of the loop turn in which uWebSockets.js writes everything published.
    clock.soon(written, to);
    publisher.publish(topic, message, false);
  }

  return {
    audio(from, feed, frame, nowMs) {
      if (!churn.isHigh(nowMs)) from.publish(feed.audioTopic, frame, true);
      // uWebSockets.js sends earlier messages to a receiver before this one.
      else for (const hearer of feed.live) hearer.give(frame, from);
    },
    sendsToEach: (nowMs) => churn.isHigh(nowMs),
    absent: { publish: (topic, message, isBinary) => publisher.publish(topic, message, isBinary) },
    hearers: (topic) => publisher.numSubscribers(topic),
    event(feed, make) {
      flushHeld(feed);
      feed.event++;
      publishText(feed.eventTopic, make(feed.event), feed);
    },
    tell(feed, message) {
      flushHeld(feed);
      publishText(feed.eventTopic, message, feed);
    },
    presence(feed, message) {
      publishText(feed.presenceTopic, message, feed);
    },
    watchers: (feed) => publisher.numSubscribers(feed.presenceTopic),
    all(message) {
      publishText(SERVICE_TOPIC, message, all);
    },
    mayDropText(feeds) {
      if (all.textsUnwritten > 0) return true;
      for (const feed of feeds) if (feed.textsUnwritten > 0) return true;
      return false;
    },
    online: (feed) => publisher.numSubscribers(feed.eventTopic) + feed.onlineElsewhere,
    onlineHere: (feed) => publisher.numSubscribers(feed.eventTopic),
  };
}

function written(to: { textsUnwritten: number }): void {
  to.textsUnwritten--;
}
