// Which talkgroups the user chose to hear, and how; chosen again in every new session.
import type { Mode } from './bodies.js';
import type { Refused, Welcome } from './messages.js';
import type { RadioError, Requests } from './requests.js';

/** `mode` is `talk` and `presence` false when left out; without a window audio is live. */
export type SubscribeOptions = {
  talkgroupIds: readonly string[];
  mode?: Mode;
  presence?: boolean;
} & HoldOptions;

/**
 * Audio may come so much later: `coalesceMs` saves the relay writes where several talk at once, `bundleMs` messages, for
 * poor links and batteries. One of them at most.
 */
export type HoldOptions =
  | { coalesceMs?: 10 | 20; bundleMs?: never }
  | { coalesceMs?: never; bundleMs?: 40 | 60 };

export type Subscriptions = {
  /**
   * Resolves with those that were refused. Rejects with RadioError; after `disconnected` and `timeout`, when the relay
   * may not have heard it, the choice stands and the next connection asks for it.
   */
  subscribe(options: SubscribeOptions): Promise<Refused[]>;
  /** Nothing more of these, until subscribed again; rejects likewise. */
  unsubscribe(talkgroupIds: readonly string[]): Promise<void>;
  connected(welcome: Welcome): void;
  /** The membership ended; joined again, it begins as every other. */
  left(talkgroupId: string): void;
};

/** `mode` null: not subscribed. */
type Choice = { mode: Mode | null; presence: boolean } & HoldOptions;

// What the server takes in one message.
const IDS_MAX = 200;

/** Nothing chosen: every talkgroup in mode `talk`. `unsubscribed` is told when it is done. */
export function createSubscriptions(
  requests: Requests,
  unsubscribed: (talkgroupIds: string[]) => void,
): Subscriptions {
  const choices = new Map<string, Choice>();
  /** Those the present session is known to have. */
  const held = new Set<string>();

  return {
    subscribe: ({ talkgroupIds, mode = 'talk', presence = false, ...hold }) =>
      choose(talkgroupIds, { mode, presence, ...hold }),
    async unsubscribe(talkgroupIds) {
      await choose(talkgroupIds, { mode: null, presence: false });
    },
    connected,
    left: forget,
  };

  async function choose(ids: readonly string[], choice: Choice): Promise<Refused[]> {
    for (const id of ids) choices.set(id, choice);
    for (const id of ids) held.delete(id);
    try {
      return await ask(ids, choice);
    } catch (error) {
      const { code } = error as RadioError; // requests reject with nothing else
      const isUnknown = code === 'disconnected' || code === 'timeout';
      if (!isUnknown) for (const id of ids) if (choices.get(id) === choice) forget(id);
      throw error;
    }
  }

  async function ask(ids: readonly string[], choice: Choice): Promise<Refused[]> {
    const refused = (await Promise.all(batchesOf(ids).map((batch) => askFor(batch, choice)))).flat();
    // Unless the user has chosen otherwise meanwhile.
    const ours = ids.filter((id) => choices.get(id) === choice);
    for (const id of ours) {
      if (refused.some(({ talkgroup_id }) => talkgroup_id === id)) forget(id);
      else held.add(id);
    }
    return refused;
  }

  async function askFor(talkgroup_ids: string[], choice: Choice): Promise<Refused[]> {
    const { mode, presence, coalesceMs, bundleMs } = choice;
    if (mode !== null) {
      const hold = {
        ...(coalesceMs !== undefined && { coalesce_ms: coalesceMs }),
        ...(bundleMs !== undefined && { bundle_ms: bundleMs }),
      };
      const request = { type: 'SUBSCRIBE', talkgroup_ids, mode, presence, ...hold } as const;
      return (await requests.askFor('SUBSCRIBED', request)).refused;
    }
    await requests.askFor('OK', { type: 'UNSUBSCRIBE', talkgroup_ids });
    unsubscribed(talkgroup_ids);
    return [];
  }

  function connected({ resumed, talkgroups, talkgroups_total }: Welcome): void {
    if (!resumed) {
      held.clear();
      // A new session begins with all memberships: what is not among them was left. Where WELCOME has no room for all,
      // it is asked for, and refused.
      const members = new Set(talkgroups.map(({ talkgroup_id }) => talkgroup_id));
      const isWhole = talkgroups.length >= talkgroups_total;
      for (const id of choices.keys()) if (isWhole && !members.has(id)) forget(id);
    }
    for (const [choice, ids] of openByKind()) {
      for (const id of ids) choices.set(id, choice);
      // Expected: RadioError. Then the next connection asks again.
      ask(ids, choice).catch(() => {});
    }
  }

  /** Together, for one who chose each by itself would else ask more than the server takes at once. */
  function openByKind(): Map<Choice, string[]> {
    const kinds = new Map<string, Choice>();
    const open = new Map<Choice, string[]>();
    for (const [id, choice] of choices) {
      if (held.has(id)) continue;
      const name = `${choice.mode} ${choice.presence} ${choice.coalesceMs} ${choice.bundleMs}`;
      const kind = kinds.get(name) ?? choice;
      kinds.set(name, kind);
      open.set(kind, [...(open.get(kind) ?? []), id]);
    }
    return open;
  }

  function forget(talkgroupId: string): void {
    choices.delete(talkgroupId);
    held.delete(talkgroupId);
  }
}

function batchesOf(ids: readonly string[]): string[][] {
  const count = Math.ceil(ids.length / IDS_MAX);
  return Array.from({ length: count }, (_, i) => ids.slice(i * IDS_MAX, (i + 1) * IDS_MAX));
}
