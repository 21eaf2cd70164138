// Collects what changes at the radio, and hands it to the page at most once in 16 ms.
import type { Clock } from '../../client/clock.js';
import type { Emergency } from '../../client/radio.js';
import type { Changes, ConnectionView, KeysView, RecentBurst, TalkgroupView, TalkView } from './messages.js';

export type Batches = {
  connection(): void;
  keys(): void;
  talkgroup(id: string): void;
  emergency(emergency: Emergency): void;
  talk(view: TalkView): void;
  /** A burst has ended. */
  recent(burst: RecentBurst): void;
};

/** What a batch is made of when it leaves. */
export type BatchSource = {
  connection(): ConnectionView;
  keys(): KeysView;
  /** null: the radio does not receive the talkgroup any more. */
  talkgroup(id: string): TalkgroupView | null;
  send(changes: Changes): void;
};

// One frame of a screen with 60 Hz. The page renders no faster.
const APART_MS = 16;

/** The page lists so many bursts. */
const RECENT_MAX = 10;

/** Creates an empty collection. It is bounded by the talkgroups, the open emergencies, the held buttons and RECENT_MAX. */
export function createBatches(source: BatchSource, clock: Clock): Batches {
  let isConnectionDue = false;
  let areKeysDue = false;
  const talkgroups = new Set<string>();
  const emergencies = new Map<string, Emergency>();
  const talks = new Map<string, TalkView>();
  let recent: RecentBurst[] = [];
  let isTimerSet = false;
  let sentAtMs = Number.NEGATIVE_INFINITY;

  return {
    connection() {
      isConnectionDue = true;
      sendSoon();
    },
    keys() {
      areKeysDue = true;
      sendSoon();
    },
    talkgroup(id) {
      talkgroups.add(id);
      sendSoon();
    },
    emergency(emergency) {
      emergencies.set(emergency.emergency_id, emergency);
      sendSoon();
    },
    talk(view) {
      talks.set(view.talkgroupId, view);
      sendSoon();
    },
    recent(burst) {
      recent = [...recent.slice(1 - RECENT_MAX), burst];
      sendSoon();
    },
  };

  /** Later changes of the same turn are sent along. */
  function sendSoon(): void {
    if (isTimerSet) return;
    isTimerSet = true;
    clock.after(Math.max(0, sentAtMs + APART_MS - clock.nowMs()), send);
  }

  function send(): void {
    isTimerSet = false;
    sentAtMs = clock.nowMs();
    const views = [...talkgroups].map((id) => source.talkgroup(id) ?? id);
    source.send({
      ...(isConnectionDue && { connection: source.connection() }),
      ...(areKeysDue && { keys: source.keys() }),
      talkgroups: views.filter((view) => typeof view !== 'string'),
      left: views.filter((view) => typeof view === 'string'),
      emergencies: [...emergencies.values()],
      talks: [...talks.values()],
      recent,
    });
    isConnectionDue = false;
    areKeysDue = false;
    recent = [];
    for (const sent of [talkgroups, emergencies, talks]) sent.clear();
  }
}
