// Finds open emergencies that a snapshot has no room for. They are read by REST before the others are shown.
import type { ReadonlySignal } from '@preact/signals';
import type { Clock } from '../../client/clock.js';
import type { Emergency } from '../../client/radio.js';
import type { Changes } from '../worker/messages.js';

/** After a failed reading. Each change would read again, and a service in trouble gets no rest. */
const AGAIN_MS = 5_000;
/** An answer that takes longer does not hold up the alarms that are known. */
const WAIT_MS = 2_000;

type Part = Partial<Pick<Changes, 'connection' | 'talkgroups'>> & Pick<Changes, 'emergencies' | 'left'>;

/** `show` is called with what is new, perhaps later. */
export function createOlder({
  readAll,
  clock,
  open,
  show,
}: {
  readAll(): Promise<readonly Emergency[]>;
  clock: Clock;
  open: ReadonlySignal<readonly Emergency[]>;
  show(emergencies: readonly Emergency[]): void;
}): { take(changes: Part): void } {
  const talkgroupIds = new Set<string>();
  /** Read by REST. The radio may not know that they were cleared while it had no connection. */
  const found = new Map<string, Emergency>();
  /** By talkgroup: the number of its last snapshot, for which nothing is to be read again. */
  const totals = new Map<string, number>();
  let opened = 0;
  /** What came while an answer is awaited. null: none is. */
  let held: Emergency[] | null = null;
  /** Ids that were cleared since the last reading began. Its answer may still have them. */
  const clearedSince = new Set<string>();

  return {
    take({ connection, talkgroups = [], left, emergencies }) {
      for (const id of left) forget(id);
      for (const { emergency_id, state } of emergencies) {
        if (state !== 'cleared') continue;
        found.delete(emergency_id);
        clearedSince.add(emergency_id);
      }
      const isNew = connection !== undefined && connection.opened !== opened;
      opened = connection?.opened ?? opened;
      const isMissing = talkgroups.filter((view) => hasMore(view, emergencies)).length > 0;
      if (held !== null) held.push(...emergencies);
      else if (isMissing || (isNew && found.size > 0)) read(emergencies);
      else show(emergencies);
    },
  };

  function forget(talkgroupId: string): void {
    talkgroupIds.delete(talkgroupId);
    totals.delete(talkgroupId);
    for (const [id, { talkgroup_id }] of found) if (talkgroup_id === talkgroupId) found.delete(id);
  }

  function hasMore(
    { id, emergenciesTotal: total }: Changes['talkgroups'][number],
    now: readonly Emergency[],
  ): boolean {
    talkgroupIds.add(id);
    if (totals.get(id) === total) return false;
    totals.set(id, total);
    const known = new Map([...open.peek(), ...now].map((one) => [one.emergency_id, one]));
    const inTalkgroup = ({ talkgroup_id, state }: Emergency) => talkgroup_id === id && state !== 'cleared';
    return total > [...known.values()].filter(inTalkgroup).length;
  }

  function read(emergencies: readonly Emergency[]): void {
    held = [...emergencies];
    clearedSince.clear();
    const cancel = clock.after(WAIT_MS, release);
    readAll().then(
      (all) => {
        cancel();
        show(merged(all, letGo()));
      },
      // RestError: the alarms that the radio knows are shown without the others. The next change tries again.
      () => {
        cancel();
        clock.after(AGAIN_MS, () => totals.clear());
        release();
      },
    );
  }

  function release(): void {
    show(letGo());
  }

  /** Without those of talkgroups that the user has left in the meantime. */
  function letGo(): Emergency[] {
    const waiting = held ?? [];
    held = null;
    return waiting.filter(({ talkgroup_id }) => talkgroupIds.has(talkgroup_id));
  }

  /** What the radio says is newer than the answer. */
  function merged(all: readonly Emergency[], said: readonly Emergency[]): Emergency[] {
    const listed = all.filter(
      ({ talkgroup_id, emergency_id }) => talkgroupIds.has(talkgroup_id) && !clearedSince.has(emergency_id),
    );
    const ids = new Set(listed.map(({ emergency_id }) => emergency_id));
    const cleared = [...found.values()].filter(({ emergency_id }) => !ids.has(emergency_id));
    for (const { emergency_id } of cleared) found.delete(emergency_id);
    const known = new Set([...open.peek(), ...said].map(({ emergency_id }) => emergency_id));
    const older = listed.filter(({ emergency_id: id }) => found.has(id) || !known.has(id));
    for (const emergency of older) found.set(emergency.emergency_id, emergency);
    return [...cleared.map((emergency) => ({ ...emergency, state: 'cleared' as const })), ...older, ...said];
  }
}
