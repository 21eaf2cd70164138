// Keeps what the page knows of keys: the key holder of this browser, and the other ones of the account.
import { batch, computed, type ReadonlySignal, type Signal, signal } from '@preact/signals';
import type { ServerMessage } from '../../client/radio.js';
import { type Rest, storedBy } from '../../client/rest.js';
import { createAttempt } from '../app/attempt.js';
import type { Changes, KeysView, Registration, Rejection } from '../worker/messages.js';
import { keys as words } from './texts.js';

/** As GET /keys/holders lists it. */
export type ListedHolder = {
  holder_id: string;
  user_id: string;
  public_key: string;
  name: string;
  fingerprint: string;
  created_at: string;
  accepted: boolean;
};

/** Of this browser. `none`: no talkgroup needs it. `waiting`: it is registered, and gets no keys until it is accepted. */
export type Phase = 'none' | 'needed' | 'waiting' | 'accepted' | 'impossible';

export type Keys = {
  readonly phase: ReadonlySignal<Phase>;
  /** Of this browser: 60 digits in groups of 5. null: it is no key holder. */
  readonly fingerprint: ReadonlySignal<string | null>;
  /** The other holders of the account. null: not read yet. */
  readonly others: ReadonlySignal<readonly ListedHolder[] | null>;
  /** How many other holders wait to be accepted. */
  readonly waiting: ReadonlySignal<number>;
  /** Whether this account accepts holders here: in an accepted browser, or as an administrator. */
  readonly mayAccept: ReadonlySignal<boolean>;
  /** The dialog that asks for the password is to be shown. It opens by itself once, when a key is needed first. */
  readonly isAsking: ReadonlySignal<boolean>;
  /** What became of the last action, for the reader. */
  readonly outcome: ReadonlySignal<{ text: string; isError: boolean } | null>;
  readonly isBusy: ReadonlySignal<boolean>;
  ask(): void;
  dismiss(): void;
  /** Makes this browser a key holder. */
  register(wanted: { password: string; name: string }): Promise<void>;
  /** Reads the list again. */
  reload(): Promise<void>;
  /** `password`: empty for an administrator. */
  accept(holderId: string, password: string): Promise<void>;
  remove(holderId: string): Promise<void>;
  /** What the worker reports. */
  take(changes: Pick<Changes, 'keys' | 'connection'>): void;
  message(message: ServerMessage): void;
};

export type KeysOwner = {
  rest: Rest;
  isAdmin: boolean;
  register(wanted: { password: string; name: string }): Promise<Registration>;
  /** With the private key of this browser, which only the worker has. */
  accept(wanted: { holderId: string; password: string }): Promise<Rejection | null>;
  /** The service does not know the holder of this browser any more. */
  forget(): void;
};

const NONE: KeysView = { state: 'none', holderId: null, fingerprint: null };

export function createKeys({ rest, isAdmin, register, accept, forget }: KeysOwner): Keys {
  const view: Signal<KeysView> = signal(NONE);
  const holders: Signal<readonly ListedHolder[] | null> = signal(null);
  /** Of this browser, as the list or the registration says. */
  const isAccepted = signal(true);
  const isAsked = signal(false);
  const { isBusy, outcome, run } = createAttempt((error) => reasonOf(error as Failure));
  const attempt = async (act: () => Promise<string | null>): Promise<void> => void (await run(act));
  let opened = 0;

  const phase = computed((): Phase => {
    const { state } = view.value;
    if (state !== 'registered') return state;
    return isAccepted.value ? 'accepted' : 'waiting';
  });
  const others = computed(
    () => holders.value?.filter(({ holder_id }) => holder_id !== view.value.holderId) ?? null,
  );

  return {
    phase,
    others,
    outcome,
    isBusy,
    fingerprint: computed(() => view.value.fingerprint),
    waiting: computed(() => others.value?.filter(({ accepted }) => !accepted).length ?? 0),
    mayAccept: computed(() => isAdmin || phase.value === 'accepted'),
    isAsking: isAsked,
    ask() {
      outcome.value = null;
      isAsked.value = true;
    },
    dismiss() {
      isAsked.value = false;
    },
    register: (wanted) =>
      attempt(async () => {
        const registration = await register(wanted);
        if ('error' in registration) throw registration;
        batch(() => {
          isAccepted.value = registration.isAccepted;
          // A browser that waits shows its fingerprint in the dialog.
          isAsked.value = !registration.isAccepted;
        });
        return null;
      }),
    reload: () => attempt(read),
    accept: (holderId, password) =>
      attempt(async () => {
        if (isAdmin) await storedBy(rest.post(`/keys/holders/${encodeURIComponent(holderId)}/accept`, {}));
        else {
          const rejection = await accept({ holderId, password });
          if (rejection !== null) throw rejection;
        }
        await read();
        return words.acceptedNow;
      }),
    remove: (holderId) =>
      attempt(async () => {
        await storedBy(rest.remove(`/keys/holders/${encodeURIComponent(holderId)}`));
        await read();
        return words.deleted;
      }),
    take({ keys, connection }) {
      const isNew = connection !== undefined && connection.opened !== opened;
      if (isNew) opened = connection.opened;
      const isOther = keys !== undefined && keys.holderId !== view.peek().holderId;
      if (keys !== undefined) view.value = keys;
      // KEY_HOLDERS may have come while there was no connection.
      if ((isNew || isOther) && view.peek().holderId !== null) void readQuietly();
    },
    message({ type }) {
      if (type === 'KEY_HOLDERS') void readQuietly();
    },
  };

  async function read(): Promise<null> {
    const { holderId } = view.peek();
    const { holders: listed } = await rest.get<{ holders: ListedHolder[] }>('/keys/holders');
    // Loaded when it is needed.
    const { withOwnFingerprint } = await import('../../client/encryption/fingerprint.js');
    const found = await Promise.all(listed.map(withOwnFingerprint));
    batch(() => {
      holders.value = found;
      const own = found.find(({ holder_id }) => holder_id === holderId);
      if (own !== undefined) isAccepted.value = own.accepted;
      // Deleted elsewhere. A holder that was registered meanwhile is not in this list.
      else if (holderId !== null && view.peek().holderId === holderId) forget();
    });
    return null;
  }

  /** RestError: the list stays as it was, and is read again with the next message or connection. */
  async function readQuietly(): Promise<void> {
    await read().catch(() => {});
  }
}

/** RestError of the console, or what the worker reports. */
type Failure = { status: number; retryAfterS?: number | null; message?: string; error?: string };

function reasonOf({ status, retryAfterS, message, error }: Failure): string {
  const text = error ?? message ?? '';
  if (status === 401) return words.wrongPassword;
  if (status === 429) return words.tooMany(retryAfterS ?? null);
  return words.failed(text);
}

const BROWSERS: readonly (readonly [RegExp, string])[] = [
  // In this order: the later names are in the texts of the earlier ones, too.
  [/Edg(?:e|A|iOS)?\//, 'Edge'],
  [/Firefox|FxiOS/, 'Firefox'],
  [/Chrome|CriOS/, 'Chrome'],
  [/Safari/, 'Safari'],
];
const SYSTEMS: readonly (readonly [RegExp, string])[] = [
  [/Android/, 'Android'],
  [/iPhone|iPad/, 'iOS'],
  [/Windows/, 'Windows'],
  [/Mac OS/, 'macOS'],
  [/Linux|X11/, 'Linux'],
];

/** What to call this browser in a list, by its `userAgent`, such as `Firefox on Linux`. The user can change it. */
export function browserName(userAgent: string): string {
  const nameIn = (names: typeof BROWSERS) => names.find(([text]) => text.test(userAgent))?.[1];
  const system = nameIn(SYSTEMS);
  return `${nameIn(BROWSERS) ?? words.browser}${system === undefined ? '' : ` on ${system}`}`;
}
