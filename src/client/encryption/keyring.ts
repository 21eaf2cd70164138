// Fetches the secrets of epochs from the REST API when a radio wants them, and keeps them in memory.
import { fromBase64url, type Primitives } from '../../protocol/encryption.js';
import { type Clock, systemClock } from '../clock.js';
import { type Rest, RestError } from '../rest.js';
import { type Holder, openEnvelope } from './holder.js';
import type { KeyStore, Memory, MissingEpoch } from './key-store.js';

/** A key store with its own requests. */
export type Keyring = KeyStore & {
  retry(): void;
  /** Cancels all requests. */
  close(): void;
};

export type KeyringOptions = {
  /** From createRest. */
  rest: Pick<Rest, 'get'>;
  holder: Holder;
  memory?: Memory;
  /** Calls it with the talkgroup and the reason when the service gives no key. */
  onFailure?: (talkgroupId: string, error: RestError) => void;
  clock?: Clock;
  random?: () => number;
};

type Wanted = { talkgroupId: string; counter: number; failures: number; dueAtMs: number };

const RETRY_MS_FIRST = 1_000;
const RETRY_MS_MAX = 30_000;
/** A rejection (404) is repeated for the case that a permission was given and its message was lost. */
const REJECTED_MS = 30_000;

/**
 * Creates an empty keyring. One request is under way at a time, because the service seals one after the other for a user.
 * It keeps the secrets of a talkgroup until the radio forgets them.
 */
export function createKeyringWith(primitives: Primitives, options: KeyringOptions): Keyring {
  const { rest, holder, memory, onFailure = () => {}, clock = systemClock, random = Math.random } = options;
  const secrets = new Map<string, Uint8Array>();
  const wanted = new Map<string, Wanted>();
  const listeners = new Set<(talkgroupId: string, missing?: MissingEpoch) => void>();
  let isAsking = false;
  let isClosed = false;
  let cancelTimer = () => {};

  return {
    primitives,
    ...(memory && { memory }),
    secretFor: (talkgroupId, counter) => secrets.get(nameOf(talkgroupId, counter)) ?? null,
    want(talkgroupId, counter, withinMs = 0) {
      const name = nameOf(talkgroupId, counter);
      if (secrets.has(name)) return;
      const dueAtMs = clock.nowMs() + random() * withinMs;
      const known = wanted.get(name);
      // A talk that begins meanwhile does not wait for the random time.
      if (known && known.failures === 0) known.dueAtMs = Math.min(known.dueAtMs, dueAtMs);
      if (!known) wanted.set(name, { talkgroupId, counter, failures: 0, dueAtMs });
      plan();
    },
    forget(talkgroupId, counter) {
      wanted.delete(nameOf(talkgroupId, counter));
      secrets.delete(nameOf(talkgroupId, counter));
    },
    onChange(run) {
      listeners.add(run);
      return () => listeners.delete(run);
    },
    retry() {
      for (const one of wanted.values()) one.dueAtMs = clock.nowMs();
      plan();
    },
    close() {
      isClosed = true;
      cancelTimer();
      wanted.clear();
      listeners.clear();
    },
  };

  function plan(): void {
    cancelTimer();
    if (isAsking || isClosed) return;
    const [next] = [...wanted.values()].sort((a, b) => a.dueAtMs - b.dueAtMs);
    if (!next) return;
    const delayMs = next.dueAtMs - clock.nowMs();
    if (delayMs > 0) cancelTimer = clock.after(delayMs, plan);
    else void ask(next); // ask settles whatever happens
  }

  async function ask(one: Wanted): Promise<void> {
    isAsking = true;
    const { talkgroupId, counter } = one;
    try {
      // After a rotation there is one new key. With the page of four, a thousand radios would ask for four thousand.
      const limit = hasLater({ talkgroupId, counter: -1 }) ? '&limit=1' : '';
      const query = `talkgroup_id=${talkgroupId}&holder_id=${holder.holderId}&from=${counter}${limit}`;
      const answer = await rest.get<Record<string, unknown>>(`/keys/epochs?${query}`);
      const { epochs, rotation_counter: newest } = answer;
      const isThere = await keep(talkgroupId, counter, epochs);
      const isMissing = typeof newest === 'number' && newest < counter;
      if (isThere || isMissing) wanted.delete(nameOf(talkgroupId, counter));
      // The service reads its counter behind the announcement of the wanted one. So only a wrong announcement is newer.
      if (isMissing && !isClosed)
        for (const run of [...listeners]) run(talkgroupId, { wanted: counter, newest });
      if (isThere || isMissing) return;
      later(one, new RestError(404, `no key of epoch ${counter}`));
    } catch (error) {
      if (!(error instanceof RestError)) throw error;
      later(one, error);
    } finally {
      isAsking = false;
      plan();
    }
  }

  /** Returns whether the wanted epoch was among them. */
  async function keep(talkgroupId: string, counter: number, epochs: unknown): Promise<boolean> {
    let hasChanged = false;
    for (const epoch of Array.isArray(epochs) ? epochs : []) {
      const secret = await secretIn(talkgroupId, epoch);
      if (!secret || isClosed) continue;
      secrets.set(nameOf(talkgroupId, epoch.rotation_counter), secret);
      wanted.delete(nameOf(talkgroupId, epoch.rotation_counter));
      hasChanged = true;
    }
    if (hasChanged) for (const run of [...listeners]) run(talkgroupId);
    return secrets.has(nameOf(talkgroupId, counter));
  }

  async function secretIn(talkgroupId: string, epoch: unknown): Promise<Uint8Array | null> {
    const { rotation_counter: counter, enc, sealed } = (epoch ?? {}) as Record<string, unknown>;
    if (typeof counter !== 'number' || typeof enc !== 'string' || typeof sealed !== 'string') return null;
    const known = secrets.get(nameOf(talkgroupId, counter));
    if (known) return known;
    const [encBytes, sealedBytes] = [fromBase64url(enc), fromBase64url(sealed)];
    if (!encBytes || !sealedBytes) return null;
    return openEnvelope(holder, { enc: encBytes, sealed: sealedBytes, talkgroupId, counter });
  }

  function hasLater({ talkgroupId, counter }: Pick<Wanted, 'talkgroupId' | 'counter'>): boolean {
    return [...secrets.keys()].some((name) => {
      const [id, epoch] = name.split(' ');
      return id === talkgroupId && Number(epoch) > counter;
    });
  }

  function later(one: Wanted, error: RestError): void {
    one.failures += 1;
    const isRejected = error.status >= 400 && error.status < 500 && error.status !== 429;
    const backoffMs = Math.min(RETRY_MS_MAX, RETRY_MS_FIRST * 2 ** (one.failures - 1));
    const waitMs =
      error.retryAfterS === null ? (isRejected ? REJECTED_MS : backoffMs) : error.retryAfterS * 1000;
    // Up to half longer, because many radios may have been rejected together.
    one.dueAtMs = clock.nowMs() + waitMs * (1 + random() / 2);
    // Who has a later epoch can talk and hear: the missing one is from before it was a member.
    if (!hasLater(one)) onFailure(one.talkgroupId, error);
  }
}

const nameOf = (talkgroupId: string, counter: number) => `${talkgroupId} ${counter}`;
