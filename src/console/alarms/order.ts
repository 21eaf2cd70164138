// Decides the places of alarms. The oldest raise is first, a new one comes last, and no change of an alarm moves a row.
import type { Emergency } from '../../client/radio.js';

export type AlarmRow = {
  readonly emergency: Emergency;
  /** `left`: the user left the talkgroup. null: the emergency is open. */
  readonly end: { readonly why: 'cleared' | 'left'; readonly atMs: number } | null;
};

/** A row stays for this time after its end. */
export const STAYS_MS = 10_000;

/** Changes rows in their place, and appends new alarms in the order of their raise. `nowMs`: monotonic time. */
export function follow(
  rows: readonly AlarmRow[],
  emergencies: readonly Emergency[],
  nowMs: number,
): readonly AlarmRow[] {
  const changed = new Map(emergencies.map((emergency) => [emergency.emergency_id, emergency]));
  const next = rows.map((row): AlarmRow => {
    const emergency = changed.get(row.emergency.emergency_id);
    changed.delete(row.emergency.emergency_id);
    if (emergency === undefined) return row;
    if (emergency.state !== 'cleared') return { emergency, end: null };
    return { emergency, end: row.end ?? { why: 'cleared', atMs: nowMs } };
  });
  const raised = [...changed.values()].filter(({ state }) => state !== 'cleared').sort(byRaise);
  return [...next, ...raised.map((emergency) => ({ emergency, end: null }))];
}

/** Ends the rows of these talkgroups. */
export function leave(
  rows: readonly AlarmRow[],
  talkgroupIds: readonly string[],
  nowMs: number,
): readonly AlarmRow[] {
  return rows.map((row) => {
    if (row.end !== null || !talkgroupIds.includes(row.emergency.talkgroup_id)) return row;
    return { ...row, end: { why: 'left', atMs: nowMs } };
  });
}

/** Without the rows that have stayed long enough. The rows below them move up. */
export const sweep = (rows: readonly AlarmRow[], nowMs: number): readonly AlarmRow[] =>
  rows.filter(({ end }) => end === null || nowMs - end.atMs < STAYS_MS);

function byRaise(one: Emergency, other: Emergency): number {
  return (
    Date.parse(one.raised_at) - Date.parse(other.raised_at) ||
    (one.emergency_id < other.emergency_id ? -1 : 1)
  );
}
