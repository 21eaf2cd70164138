// Keeps which of the watched talkgroups a user is in. WATCHING does not say it of several.
import { type ReadonlySignal, signal } from '@preact/signals';
import type { Watching } from './wire.js';

export interface Memberships {
  /** Ids of the watched talkgroups of a user, in the order in which they are watched. A view is rendered anew on a change. */
  of(userId: string): string[];
  /** Reads the members of talkgroups that are not known yet, one after the other. */
  read(): void;
  /** Devices that came to one talkgroup. */
  watching(message: Watching): void;
}

/** Rejections are those of the network or of a talkgroup that is no more. The user then has no talkgroup here. */
export function createMemberships(
  chosen: ReadonlySignal<ReadonlySet<string>>,
  readMembers: (talkgroupId: string) => Promise<readonly string[]>,
): Memberships {
  const members = new Map<string, Set<string>>();
  const edition = signal(0);
  let isReading = false;

  async function readAll(): Promise<void> {
    isReading = true;
    const failed = new Set<string>();
    for (;;) {
      const next = [...chosen.peek()].find((id) => !members.has(id) && !failed.has(id));
      if (next === undefined) break;
      try {
        members.set(next, new Set(await readMembers(next)));
        edition.value += 1;
      } catch {
        failed.add(next); // RestError: the next choice of talkgroups reads it again
      }
    }
    isReading = false;
  }

  return {
    of(userId) {
      edition.value;
      const ids = [...chosen.value];
      // All that is watched belongs to the only one.
      return ids.length === 1 ? ids : ids.filter((id) => members.get(id)?.has(userId));
    },
    read() {
      if (!isReading && chosen.peek().size > 1) void readAll();
    },
    watching({ talkgroup_id: id, devices }) {
      const known = id === undefined ? undefined : members.get(id);
      if (known === undefined) return;
      for (const { user_id: userId } of devices) if (userId !== undefined) known.add(userId);
      edition.value += 1;
    },
  };
}
