// Keeps all talks of one radio, at most one per talkgroup, and passes each the messages that concern it.

import type { ServerMessage, Welcome } from '../../protocol/types.js';
import type { Clock } from '../clock.js';
import { RadioError } from '../connection/requests.js';
import { createRetry } from './retry.js';
import type { Talk, TalkHandle, TalkOptions } from './talk.js';
import { createTalk } from './talking.js';
import type { Uplink } from './uplink.js';

export type Talks = {
  /**
   * Ends an earlier talk there. Throws RadioError `not_member` when connected and not subscribed to the talkgroup. When
   * the talkgroup may be in a part of the snapshots that has not come yet, the talk waits for it.
   */
  begin(options: TalkOptions): Talk;
  message(message: ServerMessage): void;
  connected(welcome: Welcome): void;
  /** A key of the talkgroup arrived. */
  keyArrived(talkgroupId: string): void;
  connectionLost(): void;
  /** The radio has stopped for good. */
  stop(): void;
};

/** Creates an empty list of talks. `random`: in [0, 1). */
export function createTalks(uplink: Uplink, clock: Clock, random: () => number): Talks {
  let talks: TalkHandle[] = [];
  let asked = 0;

  return {
    begin(options) {
      // LIMIT: for a talkgroup in the last of many parts, it waits a round trip for each. A SYNC would avoid that.
      const { talkgroupId } = options;
      const isKnown = uplink.numberOf(talkgroupId) !== null;
      if (uplink.isOpen && !isKnown && !uplink.isAwaited(talkgroupId)) {
        throw new RadioError('not_member', 'not a member of this talkgroup, or not subscribed to it');
      }
      for (const earlier of talksIn(talkgroupId)) earlier.end();
      asked += 1;
      talks = talks.filter(({ isOver, leftMs }) => !isOver || leftMs > 0);
      const here = talks.filter((earlier) => earlier.talkgroupId === talkgroupId);
      const leftMs = Math.max(0, ...here.map((earlier) => earlier.leftMs));
      const retry = createRetry(clock, random, leftMs);
      const sendEarlier = () => {
        for (const one of talksIn(talkgroupId)) {
          if (one === talk) return;
          one.flush();
        }
      };
      const own = { ref: `talk-${asked}`, sendEarlier };
      const talk: TalkHandle = createTalk({ ...options, ...own }, retry, uplink, clock);
      talks.push(talk);
      return talk;
    },
    message,
    connected,
    keyArrived(talkgroupId) {
      for (const talk of talksIn(talkgroupId)) talk.keyArrived();
    },
    connectionLost() {
      for (const talk of talks) talk.connectionLost();
    },
    stop() {
      for (const talk of talks) talk.stop();
    },
  };

  function talksIn(talkgroupId: string): TalkHandle[] {
    return talks.filter((talk) => talk.talkgroupId === talkgroupId && !talk.isOver);
  }

  function message(message: ServerMessage): void {
    if (message.type === 'SUBSCRIBED') {
      for (const snapshot of message.talkgroups)
        for (const talk of talksIn(snapshot.talkgroup_id)) talk.snapshot(snapshot);
      for (const talk of talks) talk.partCame();
    } else if (message.type === 'ERROR' && message.talkgroup_id === undefined) {
      // Such an ERROR identifies at most the rejected request, by `ref`.
      talks.some((talk) => talk.message(message));
    } else if ('talkgroup_id' in message) {
      const concerned = talksIn(message.talkgroup_id ?? '');
      if (message.type === 'SYNCED') for (const talk of concerned) talk.snapshot(message);
      // In the order in which the talks began, because the server numbers bursts in that order.
      else if (!concerned.some((talk) => talk.message(message))) decline(message, concerned);
    }
  }

  /** Releases the floor, or the place in the queue, of a talk that ended while there was no connection. */
  function decline(message: ServerMessage, concerned: TalkHandle[]): void {
    if (message.type !== 'FLOOR_GRANTED' && message.type !== 'FLOOR_QUEUED') return;
    if (message.ref === undefined && concerned.length === 0) release(message.talkgroup_id);
  }

  function connected({ session, resumed, talkgroups }: Welcome): void {
    const snapshots = new Map(talkgroups.map((snapshot) => [snapshot.talkgroup_id, snapshot]));
    for (const talk of talks) {
      if (!talk.isOver) talk.connected((resumed && snapshots.get(talk.talkgroupId)) || null);
    }
    for (const { talkgroup_id, talkers } of talkgroups) {
      const isOurs = talkers.some((talker) => talker.session === session);
      if (isOurs && talksIn(talkgroup_id).length === 0) release(talkgroup_id);
    }
  }

  function release(talkgroup_id: string): void {
    uplink.send(JSON.stringify({ type: 'FLOOR_RELEASE', talkgroup_id }));
  }
}
