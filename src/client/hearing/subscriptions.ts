// Keeps the user's choice of talkgroups and modes, and requests it in every new session until the relay has answered.

import type { TALKGROUP_IDS_MAX } from '../../protocol/client-messages.js';
import type { Mode } from '../../protocol/codes.js';
import type { Refused, Welcome } from '../../protocol/types.js';
import type { Clock } from '../clock.js';
import { isWhole } from '../connection/parse.js';
import { isPassing, type RadioError, type Requests } from '../connection/requests.js';

/** Defaults: mode `talk`, no presence, live audio. */
export type SubscribeOptions = {
  talkgroupIds: readonly string[];
  mode?: Mode;
  presence?: boolean;
} & HoldOptions;

/**
 * How much later audio may arrive (ms). `coalesceMs` reduces the relay's writes when several radios talk at once.
 * `bundleMs` reduces the number of messages, for poor links and batteries. At most one of the two.
 */
export type HoldOptions =
  | { coalesceMs?: 10 | 20; bundleMs?: never }
  | { coalesceMs?: never; bundleMs?: 40 | 60 };

export type Subscriptions = {
  /**
   * Resolves with the talkgroups that the relay rejected. Rejects with RadioError. After `disconnected` and `timeout` the
   * relay may not have received the request: the choice stays, and the next connection requests it. After other errors
   * the earlier choice counts. The radio requests an accepted choice in every session, and repeats the request every 1
   * to 2 s while the relay rejects it for the moment.
   */
  subscribe(options: SubscribeOptions): Promise<Refused[]>;
  /** Ends the subscription of these talkgroups until the next `subscribe`. Rejects in the same way. */
  unsubscribe(talkgroupIds: readonly string[]): Promise<void>;
  /** Requests the choices that the session does not have. Repeats that while the relay rejects them for the moment. */
  connected(welcome: Welcome): void;
  /** Cancels the repeated request. The next connection requests the choices. */
  disconnected(): void;
  /** The membership ended. If the user joins again, the talkgroup has the default mode. */
  left(talkgroupId: string): void;
};

/** `mode` null: not subscribed. */
type Choice = { mode: Mode | null; presence: boolean } & HoldOptions;

// The server's limit for one message. Its type checks the number, because a browser does not load the file that has it.
const IDS_MAX: typeof TALKGROUP_IDS_MAX = 200;
// 1 to 2 s after a rejection. The server may have rejected many radios, which must not all repeat it at the same time.
const AGAIN_MS_MIN = 1_000;
const AGAIN_SPREAD_MS = 1_000;

/** Creates an empty choice: every talkgroup in mode `talk`. Calls `unsubscribed` after each successful unsubscribe. */
export function createSubscriptions(
  requests: Requests,
  clock: Clock,
  random: () => number,
  unsubscribed: (talkgroupIds: string[]) => void,
): Subscriptions {
  const choices = new Map<string, Choice>();
  /** By talkgroup with a requested choice: the earlier choice, which counts if the relay rejects the new one. */
  const before = new Map<string, Choice | undefined>();
  /** By talkgroup: the choice that the relay accepted in the present session. */
  const held = new Map<string, Choice>();
  /** By talkgroup with an open request on this connection: the ids of the last such request. */
  const asked = new Map<string, readonly string[]>();
  let isConnected = false;
  /** Cancels the repeated request that is due. null: none is due. */
  let cancelAgain: (() => void) | null = null;

  return {
    subscribe: ({ talkgroupIds, mode = 'talk', presence = false, ...hold }) =>
      choose(talkgroupIds, { mode, presence, ...hold }),
    async unsubscribe(talkgroupIds) {
      await choose(talkgroupIds, { mode: null, presence: false });
    },
    connected,
    disconnected() {
      isConnected = false;
      cancelAgain?.();
      cancelAgain = null;
    },
    left: forget,
  };

  async function choose(ids: readonly string[], choice: Choice): Promise<Refused[]> {
    for (const id of ids) {
      if (!before.has(id)) before.set(id, choices.get(id));
      choices.set(id, choice);
    }
    return askAll(ids, choice, failed);
  }

  async function askAll(
    ids: readonly string[],
    choice: Choice,
    failed: (ids: readonly string[], choice: Choice, error: RadioError) => void,
  ): Promise<Refused[]> {
    const answers = batchesOf(ids).map(async (batch) => {
      for (const id of batch) asked.set(id, batch);
      try {
        const refused = await askFor(batch, choice);
        for (const id of batch) answered(id, choice, refused);
        return refused;
      } catch (error) {
        failed(batch, choice, error as RadioError); // requests reject with RadioError only
        throw error;
      } finally {
        for (const id of batch) if (asked.get(id) === batch) asked.delete(id);
      }
    });
    return (await Promise.all(answers)).flat();
  }

  function answered(id: string, choice: Choice, refused: readonly Refused[]): void {
    const isRefused = refused.some(({ talkgroup_id }) => talkgroup_id === id);
    if (!isRefused) held.set(id, choice);
    if (choices.get(id) !== choice) {
      // The user has made another choice in the meantime.
      if (before.has(id)) before.set(id, isRefused ? undefined : choice);
    } else if (isRefused) forget(id);
    else before.delete(id);
  }

  /** A rejected message changed nothing, so the earlier choice counts. If the outcome is unknown, the new one counts. */
  function failed(ids: readonly string[], choice: Choice, { code }: RadioError): void {
    const isUnknown = code === 'disconnected' || code === 'timeout';
    for (const id of ids) {
      if (choices.get(id) !== choice) {
        if (isUnknown && before.has(id)) before.set(id, choice);
        continue;
      }
      const earlier = before.get(id);
      before.delete(id);
      if (isUnknown) continue;
      if (earlier === undefined) {
        forget(id);
      } else {
        choices.set(id, earlier);
        // The relay has rejected the earlier choice too, or has not answered.
        if (held.get(id) !== earlier) askLater();
      }
    }
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

  function connected(welcome: Welcome): void {
    const { resumed, talkgroups } = welcome;
    isConnected = true;
    asked.clear();
    if (!resumed) {
      held.clear();
      // WELCOME of a new session has all memberships. The user left a talkgroup that is not in it. If WELCOME has no room for
      // all, the radio requests the choice, and the relay rejects it.
      const members = new Set(talkgroups.map(({ talkgroup_id }) => talkgroup_id));
      for (const id of choices.keys()) if (isWhole(welcome) && !members.has(id)) forget(id);
    }
    askOpen();
  }

  function askOpen(): void {
    for (const [choice, ids] of openByKind()) {
      for (const id of ids) choices.set(id, choice);
      // After an error that repeating would not change, only the next connection requests the choice.
      const failed = (_ids: unknown, _choice: unknown, error: RadioError) => {
        if (isPassing(error)) askLater();
      };
      askAll(ids, choice, failed).catch(() => {}); // RadioError, handled by `failed`
    }
  }

  /** At most one repeated request is due. It contains the choices that are open at that time. */
  function askLater(): void {
    if (!isConnected || cancelAgain) return;
    cancelAgain = clock.after(AGAIN_MS_MIN + random() * AGAIN_SPREAD_MS, () => {
      cancelAgain = null;
      askOpen();
    });
  }

  /**
   * The choices that the session does not have and that are not being requested. Equal choices are requested together,
   * because one message for each talkgroup would exceed the rate that the server accepts.
   */
  function openByKind(): Map<Choice, string[]> {
    const kinds = new Map<string, Choice>();
    const open = new Map<Choice, string[]>();
    for (const [id, choice] of choices) {
      if (held.get(id) === choice || asked.has(id)) continue;
      const name = `${choice.mode} ${choice.presence} ${choice.coalesceMs} ${choice.bundleMs}`;
      const kind = kinds.get(name) ?? choice;
      kinds.set(name, kind);
      open.set(kind, [...(open.get(kind) ?? []), id]);
    }
    return open;
  }

  function forget(talkgroupId: string): void {
    choices.delete(talkgroupId);
    before.delete(talkgroupId);
    held.delete(talkgroupId);
  }
}

function batchesOf(ids: readonly string[]): string[][] {
  const count = Math.ceil(ids.length / IDS_MAX);
  return Array.from({ length: count }, (_, i) => ids.slice(i * IDS_MAX, (i + 1) * IDS_MAX));
}
