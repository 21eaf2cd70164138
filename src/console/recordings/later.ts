// Loads the code for recordings when a talkgroup of the user is recorded, or when the user looks for recordings.
import { effect, type ReadonlySignal, type Signal, signal } from '@preact/signals';
import type { DeskRecordings, RecordingsParts } from './open.js';

export type LaterRecordings = {
  /** null: the code is not needed yet. */
  readonly now: ReadonlySignal<DeskRecordings | null>;
  /** For a user who looks for recordings. Rejects without a network. */
  open(): Promise<DeskRecordings>;
};

export function createLaterRecordings(parts: RecordingsParts): LaterRecordings {
  const now: Signal<DeskRecordings | null> = signal(null);
  effect(() => {
    const isRecorded = parts.talkgroups.tiles.value.some(({ view }) => view.value.recordingDays > 0);
    // TypeError: the network failed. The next connection asks again.
    if (isRecorded && parts.connection.value.state === 'open') open().catch(() => {});
  });
  return { now, open };

  async function open(): Promise<DeskRecordings> {
    const { openRecordings } = await import('./open.js');
    now.value ??= openRecordings(parts);
    return now.value;
  }
}
