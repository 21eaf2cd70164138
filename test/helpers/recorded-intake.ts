// Recorded speech for an intake, and a store of the test's own that keeps to what PostgreSQL does.

import { AppError } from '../../src/errors.js';
import type { TalkgroupId, UserId } from '../../src/ids.js';
import type { Batch, Part, RecordingHead, RecordingTail } from '../../src/protocol/recording-batch.js';
import { createIntake, type IntakeOptions, type Stored } from '../../src/recordings/intake/intake.js';
import { eventually } from './eventually.js';

export const head = (id: string): RecordingHead => ({
  ...{ id, talkgroup_id: 'fire' as TalkgroupId, talkgroup_number: 1, talkgroup_name: 'fire' },
  ...{ user_id: 'ann' as UserId, username: 'ann', started_at: 1, days: 1, epoch: 0, was_required: false },
  ...{ priority: 1, emergency: false, codec: null, crypto: null, first_frame: 1 },
});

export const tail = (id: string, frames: number): RecordingTail => ({
  ...head(id),
  ...{ frames, duration_ms: 1, code: 'released', lost: {} },
});

export const part = (id: string, from: number, frames = 1, size = 10): Part => ({
  ...{ id, from, frames, bytes: new Uint8Array(size) },
});

export const batch = (given: Partial<Batch>): Batch => ({
  heads: [],
  parts: [],
  lost: {},
  burstsLost: 0,
  ...given,
});

/** What one attempt of the store does. */
export type Deed = 'stores' | 'late' | 'refuses' | 'unsaid';

interface TestStore {
  readonly deeds?: readonly Deed[];
  readonly culprits?: ReadonlySet<string>;
  readonly isFull?: () => boolean;
}

export const keyOf = ({ id, from }: Pick<Part, 'id' | 'from'>) => `${id} ${from}`;

/** The store keeps to what PostgreSQL does: a statement is stored whole or not at all, and a repeated one changes nothing. */
export function intakeInto({ deeds = [], culprits = new Set(), isFull = () => false }: TestStore) {
  const rows = new Map<string, RecordingHead | RecordingTail>();
  const parts = new Map<string, Part>();
  const told: { readonly fields: Record<string, unknown>; readonly message: string }[] = [];
  const faults: string[] = [];
  let running = 0;
  let next = 0;

  function keep(stored: Stored): void {
    for (const row of stored.rows) {
      const known = rows.get(row.id);
      const lost = { ...known?.lost, ...row.lost };
      rows.set(row.id, {
        ...row,
        ...known,
        ...(row.lost !== undefined && !('code' in (known ?? {})) && row),
        lost,
      });
    }
    for (const one of stored.parts) {
      if (!rows.has(one.id)) faults.push(`speech without a row: ${keyOf(one)}`);
      parts.set(keyOf(one), one);
    }
  }

  const log = (fields: object, message: string) => void told.push({ fields: { ...fields }, message });
  const options: IntakeOptions = {
    async store(stored) {
      if (running > 0) faults.push('two statements at once');
      if (new Set(stored.rows.map(({ id }) => id)).size < stored.rows.length) faults.push('a row twice');
      running++;
      const deed = deeds[next++] ?? 'stores';
      if (deed === 'late') await new Promise((resolve) => setTimeout(resolve, 2));
      else await null;
      running--;
      if (deed === 'refuses') throw new AppError('database_unavailable');
      const culprit = [...stored.rows.map(({ id }) => id), ...stored.parts.map(keyOf)].find((one) =>
        culprits.has(one),
      );
      if (culprit !== undefined) throw new Error(`not storable: ${culprit}`);
      keep(stored);
      if (deed === 'unsaid') throw new AppError('outcome_unknown');
    },
    isFull,
    log: { info: log, warn: log, error: log },
    ...{ gatherMs: 0, againMs: 1 },
  };
  return { intake: createIntake(options), rows, parts, told, faults };
}

export const isIdle = ({ intake }: ReturnType<typeof intakeInto>) =>
  eventually(() => {
    if (intake.figures().waitingBytes > 0 || intake.figures().rowsWaiting > 0) throw new Error('it waits');
  });
