// Keeps until when the user has heard, and counts the calls of the times in between.
import { batch, type ReadonlySignal, type Signal, signal } from '@preact/signals';
import type { MissedRecordings } from '../../client/recordings/types.js';
import { readJson, type Shelf, writeJson } from '../settings/state.js';
import type { Part } from './oldest-first.js';

/** The user heard nothing from `since` to `until`. Unix time (ms) of the server. */
export type Absence = { since: number; until: number };

/** `isMore`: there may be more calls, because the service counts to 20 in each talkgroup. */
export type Counts = { calls: number; talkgroups: number; emergencies: number; isMore: boolean };

export type Missed = {
  /** null: none are known. */
  readonly counts: ReadonlySignal<Counts | null>;
  /** Where the counted calls are, those of the oldest absence first. */
  parts(): Part[][];
  /** The user has heard everything until then. */
  heard(untilMs: number): void;
  /** The user does not hear any more, and has heard everything until then. */
  lost(untilMs: number): void;
  /** The user hears again. Asks for the calls since the last `heard`, and for those of an earlier visit. */
  back(atMs: number): void;
  /** The user has heard the missed calls until then, and wants to know what is left. */
  goOnFrom(atMs: number): void;
  /** Forgets all missed calls. */
  forget(): void;
};

export type MissedOwner = {
  /** Rejects when the service gave no answer for some minutes, or because of `signal`. */
  ask(absence: Absence, signal: AbortSignal): Promise<MissedRecordings>;
  shelf: Shelf;
  /** Users who share a browser have their own calls. */
  userId: string;
};

type Counted = Absence & { talkgroups: MissedRecordings['talkgroups'] | null };

/** The service counts no more in a talkgroup. */
const COUNT_MAX = 20;
/** Of more, the first ones become one. */
const ABSENCES_MAX = 8;
/** The service counts what began in the last 24 h. */
const OLD_MS = 86_400_000;

export function createMissed({ ask, shelf, userId }: MissedOwner): Missed {
  const key = `talkgroup.heard.${userId}`;
  const stored = readStored(readJson(shelf, key));
  let untilMs = stored.untilMs;
  let absences: Counted[] = stored.absences.map((one) => ({ ...one, talkgroups: null }));
  let asking: AbortController | null = null;
  const counts: Signal<Counts | null> = signal(null);

  return {
    counts,
    parts: () =>
      absences.map(({ since, until, talkgroups }) =>
        (talkgroups ?? []).map(({ talkgroup_id }) => ({ talkgroupId: talkgroup_id, since, until })),
      ),
    heard,
    lost(atMs) {
      untilMs = atMs;
      keep();
    },
    back(atMs) {
      if (untilMs !== null && untilMs < atMs)
        absences.push({ since: untilMs, until: atMs, talkgroups: null });
      const isOld = ({ until }: Absence) => until <= atMs - OLD_MS;
      change(absences.filter((one) => !isOld(one)));
      heard(atMs);
      void askAll();
    },
    goOnFrom(atMs) {
      const left = absences.filter(({ until }) => until > atMs);
      change(left.map(({ since, until }) => ({ since: Math.max(since, atMs), until, talkgroups: null })));
      void askAll();
    },
    forget: () => change([]),
  };

  function heard(atMs: number): void {
    if (untilMs !== null && atMs <= untilMs) return;
    untilMs = atMs;
    keep();
  }

  function change(next: readonly Counted[]): void {
    asking?.abort();
    asking = null;
    absences = [...next];
    while (absences.length > ABSENCES_MAX) {
      const [first, second] = absences.splice(0, 2);
      if (first && second) absences.unshift({ since: first.since, until: second.until, talkgroups: null });
    }
    keep();
    count();
  }

  /** One after the other. The next return of the connection asks again for those that got no answer. */
  async function askAll(): Promise<void> {
    const mine = new AbortController();
    asking = mine;
    for (const absence of [...absences]) {
      if (absence.talkgroups !== null) continue;
      const answer = await ask(absence, mine.signal).catch(() => null);
      if (mine.signal.aborted) return;
      if (answer === null) continue;
      const talkgroups = answer.talkgroups.filter(({ first_at }) => Date.parse(first_at) < absence.until);
      absences = absences
        .map((one) => (one === absence ? { ...one, talkgroups } : one))
        .filter((one) => one.talkgroups?.length !== 0);
      batch(count);
      keep();
    }
  }

  function count(): void {
    const all = absences.flatMap(({ talkgroups }) => talkgroups ?? []);
    const sum = (of: (one: (typeof all)[number]) => number) => all.reduce((total, one) => total + of(one), 0);
    counts.value =
      all.length === 0
        ? null
        : {
            calls: sum(({ recordings }) => recordings),
            talkgroups: new Set(all.map(({ talkgroup_id }) => talkgroup_id)).size,
            emergencies: sum(({ emergencies }) => emergencies),
            isMore: all.some(({ recordings }) => recordings >= COUNT_MAX),
          };
  }

  function keep(): void {
    writeJson(shelf, key, { untilMs, absences: absences.map(({ since, until }) => ({ since, until })) });
  }
}

function readStored(stored: unknown): { untilMs: number | null; absences: Absence[] } {
  const given = typeof stored === 'object' && stored !== null ? stored : {};
  const { untilMs, absences } = given as { untilMs?: unknown; absences?: unknown }; // checked in the next lines
  return {
    untilMs: typeof untilMs === 'number' && Number.isFinite(untilMs) ? untilMs : null,
    absences: Array.isArray(absences) ? absences.filter(isAbsence) : [],
  };
}

function isAbsence(one: unknown): one is Absence {
  if (typeof one !== 'object' || one === null) return false;
  const { since, until } = one as Partial<Absence>; // checked in the next line
  return Number.isFinite(since) && Number.isFinite(until) && Number(since) < Number(until);
}
