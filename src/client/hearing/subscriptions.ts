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
  /** Asks for what the session does not have, and again while the relay refuses it for now. */
  connected(welcome: Welcome): void;
  /** The next connection asks. */
  disconnected(): void;
  /** The membership ended; joined again, it begins as every other. */
  left(talkgroupId: string): void;
};

/** `mode` null: not subscribed. */
type Choice = { mode: Mode | null; presence: boolean } & HoldOptions;

// What the server takes in one message: its type holds the number that a browser does not load.
const IDS_MAX: typeof TALKGROUP_IDS_MAX = 200;
// 1 to 2 s after a refusal: what was refused to one radio is refused to many, and they must not all ask at once.
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
  /** Of talkgroups with a choice that is being asked for: the one that counts when the relay refuses. */
  const before = new Map<string, Choice | undefined>();
  /** What the present session is known to have. */
  const held = new Map<string, Choice>();
  /** Of talkgroups for which a question is open on this connection: the ids of the last one. */
  const asked = new Map<string, readonly string[]>();
  let isConnected = false;
  /** Takes back the question that is due; null when none is. */
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
        failed(batch, choice, error as RadioError); // requests reject with nothing else
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
      // The user has chosen otherwise meanwhile.
      if (before.has(id)) before.set(id, isRefused ? undefined : choice);
    } else if (isRefused) forget(id);
    else before.delete(id);
  }

  /** Refused as a whole the message changed nothing: the choice before it counts. Unknown, the new one stands. */
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
        // It was refused meanwhile as well, or never answered.
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
      // A new session begins with all memberships: what is not among them was left. Where WELCOME has no room for all,
      // it is asked for, and refused.
      const members = new Set(talkgroups.map(({ talkgroup_id }) => talkgroup_id));
      for (const id of choices.keys()) if (isWhole(welcome) && !members.has(id)) forget(id);
    }
    askOpen();
  }

  function askOpen(): void {
    for (const [choice, ids] of openByKind()) {
      for (const id of ids) choices.set(id, choice);
      // A message that is refused for good is asked by the next connection only.
      const failed = (_ids: unknown, _choice: unknown, error: RadioError) => {
        if (isPassing(error)) askLater();
      };
      askAll(ids, choice, failed).catch(() => {}); // RadioError, reported already
    }
  }

  /** One question is due at most; it takes what is still chosen and missing by then. */
  function askLater(): void {
    if (!isConnected || cancelAgain) return;
    cancelAgain = clock.after(AGAIN_MS_MIN + random() * AGAIN_SPREAD_MS, () => {
      cancelAgain = null;
      askOpen();
    });
  }

  /**
   * Chosen, not held by the session, and not being asked for. Together, for one who chose each by itself would else ask
   * more than the server takes at once.
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
