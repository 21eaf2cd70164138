// Shows the state of the radio as the page gets it: the connection, and each talkgroup with its talkers.

import { isOpus } from '../../client/audio/opus.js';
import type {
  Close,
  Radio,
  RadioEvents,
  Talker,
  Talkgroup,
  UnopenedReason,
  Welcome,
} from '../../client/radio.js';
import type { ConnectionView, RecentBurst, TalkerView, TalkgroupView } from './messages.js';

export type Views = {
  connection(): ConnectionView;
  /** null: the radio does not receive it any more. */
  talkgroup(id: string): TalkgroupView | null;
  /** Ids of the talkgroups that have come, changed or been left since the last call. */
  changed(): string[];
  opened(welcome: Welcome, unixMs: number): void;
  closed(close: Close, retryAtMs: number | null): void;
  draining(): void;
  talkStarted(talker: Talker): void;
  /** null: the burst has not begun for this console. */
  talkEnded(end: RadioEvents['talk_ended'], unixMs: number): RecentBurst | null;
  unopened(first: RadioEvents['unopened']): void;
};

/** Creates the views of a radio that is not connected yet. */
export function createViews(
  radio: Pick<Radio, 'state' | 'session' | 'reach' | 'talkgroups' | 'isRequired' | 'heardUntil'>,
): Views {
  const last = new Map<string, NonNullable<TalkgroupView['last']>>();
  /** By talkgroup and session: why frames of the running burst were not opened. */
  const unopened = new Map<string, { burst: number; reason: UnopenedReason }>();
  /** By talkgroup and session: the running talker, whom the end of a burst does not name. */
  const talking = new Map<string, Talker & { isOwn: boolean }>();
  /** By talkgroup: what was shown last of the properties that come without an event of their own. */
  const shown = new Map<string, string>();
  let close: Close | null = null;
  let retryAtMs: number | null = null;
  let resumed: boolean | null = null;
  let isDraining = false;
  let clockOffsetMs = 0;
  let opened = 0;

  return {
    connection: () => {
      const { state, reach } = radio;
      const heardUntilMs = radio.heardUntil();
      return { state, close, retryAtMs, resumed, isDraining, reach, clockOffsetMs, heardUntilMs, opened };
    },
    talkgroup(id) {
      const talkgroup = radio.talkgroups.get(id);
      return talkgroup === undefined ? null : viewOf(id, talkgroup);
    },
    changed() {
      const left = [...shown.keys()].filter((id) => !radio.talkgroups.has(id));
      for (const id of left) {
        shown.delete(id);
        last.delete(id);
      }
      const changed = [...radio.talkgroups].filter(([id, talkgroup]) => isNew(id, talkgroup));
      return [...left, ...changed.map(([id]) => id)];
    },
    opened(welcome, unixMs) {
      opened += 1;
      // The first WELCOME continues nothing.
      resumed = close === null ? null : welcome.resumed;
      retryAtMs = null;
      isDraining = false;
      clockOffsetMs = welcome.server_time - unixMs;
    },
    closed(next, atMs) {
      close = next;
      retryAtMs = atMs;
      isDraining = false;
    },
    draining() {
      isDraining = true;
    },
    talkStarted(talker) {
      const isOwn = talker.session === radio.session;
      talking.set(`${talker.talkgroup_id} ${talker.session}`, { ...talker, isOwn });
    },
    talkEnded({ talkgroup_id: id, session, duration_ms, recallId, isCutOff = false }, unixMs) {
      const key = `${id} ${session}`;
      const talker = talking.get(key);
      talking.delete(key);
      unopened.delete(key);
      if (talker === undefined) return null;
      const { username, isOwn, started_at, codec } = talker;
      last.set(id, { username, endedAtMs: unixMs, isCutOff });
      return {
        ...{ talkgroupId: id, talkgroup: radio.talkgroups.get(id)?.name ?? '', username, isOwn },
        endedAtMs: unixMs,
        durationMs: duration_ms ?? Math.max(0, unixMs + clockOffsetMs - Date.parse(started_at)),
        ...(recallId !== undefined && isOpus(codec) && { callId: recallId }),
      };
    },
    unopened({ talkgroupId, session, burst, reason }) {
      // Of a burst that has not begun for this console, nothing is shown.
      const key = `${talkgroupId} ${session}`;
      if (talking.has(key)) unopened.set(key, { burst, reason });
    },
  };

  function isNew(id: string, talkgroup: Talkgroup): boolean {
    const { name, floor_mode, max_talk_ms, online, encryption, may_have_keys, emergencies_total } = talkgroup;
    const now = JSON.stringify([
      ...[name, floor_mode, max_talk_ms, online, encryption, may_have_keys, emergencies_total],
      talkgroup.recording_days,
    ]);
    if (shown.get(id) === now) return false;
    shown.set(id, now);
    return true;
  }

  function viewOf(id: string, talkgroup: Talkgroup): TalkgroupView {
    const { name, number, floor_mode, max_talk_ms, online, missed, lostBetweenNodes, locks } = talkgroup;
    // A relay of an earlier release says nothing: it relays what is encrypted, requires nothing, and records nothing.
    const { encryption = 'allowed', may_have_keys: mayHaveKeys = true, recording_days = 0 } = talkgroup;
    return {
      ...{
        id,
        number,
        name,
        floorMode: floor_mode,
        maxTalkMs: max_talk_ms,
        recordingDays: recording_days,
        online,
        missed,
        lostBetweenNodes,
      },
      ...{ encryption, mayHaveKeys, isLockExpected: radio.isRequired(id) },
      emergenciesTotal: talkgroup.emergencies_total,
      talkers: [...talkgroup.talkers.values()].map((talker) => ({
        ...talkerOf(talker),
        lock: isOpus(talker.codec) ? (locks.get(talker.session) ?? null) : 'cannot_open',
      })),
      last: last.get(id) ?? null,
    };
  }

  function talkerOf({
    talkgroup_id,
    session,
    burst,
    username,
    emergency,
    started_at,
    codec,
  }: Talker): Omit<TalkerView, 'lock'> {
    const startedAtMs = Date.parse(started_at) - clockOffsetMs;
    const not = unopened.get(`${talkgroup_id} ${session}`);
    const reason = not?.burst === burst ? not.reason : null;
    const why = isOpus(codec) ? reason : 'codec';
    const isOwn = session === radio.session;
    return { session, burst, username, emergency, startedAtMs, isOwn, unopened: why };
  }
}
