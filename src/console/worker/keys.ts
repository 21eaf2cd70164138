// Keeps the keys of the radio: finds the key holder of this browser, or says that one is needed, and registers it.
import type { Holder, HolderDatabase, KeyStore, MissingEpoch, Rest, RestError } from '../../client/radio.js';
import type { KeyringParts } from './keyring.js';
import type { KeysView, Registration, Rejection } from './messages.js';

export type DeskKeys = {
  readonly store: KeyStore;
  view(): KeysView;
  /** Registers this browser as a key holder. */
  register(wanted: { password: string; name: string }): Promise<Registration>;
  /** Accepts another key holder of the account, with the key of this browser. null: it is accepted. */
  accept(wanted: { holderId: string; password: string }): Promise<Rejection | null>;
  /** The service does not know the key holder any more. */
  forget(): Promise<void>;
};

export type DeskKeysOptions = {
  userId: string;
  rest: Rest;
  /** Rejects where the browser has no IndexedDB. */
  openDatabase(): Promise<HolderDatabase>;
  loadKeyring(): Promise<KeyringParts>;
  /** The view has changed. */
  changed(): void;
};

type Keyring = ReturnType<KeyringParts['createKeyring']>;
type Memory = NonNullable<KeyStore['memory']>;

// Some browsers never answer when storage is blocked.
const OPEN_MS_MAX = 3_000;

/** Resolves when what the browser remembers is read, because the radio reads it with the first snapshot. */
export async function openDeskKeys(options: DeskKeysOptions): Promise<DeskKeys> {
  const { userId, rest, loadKeyring, changed } = options;
  const listeners = new Set<(talkgroupId: string, missing?: MissingEpoch) => void>();
  /** What was wanted, by talkgroup and counter, for the next keyring. The radio forgets epochs that are over. */
  const wanted = new Map<string, { talkgroupId: string; counter: number }>();
  let keyring: Keyring | null = null;
  let memory: Memory | null = null;
  let database: HolderDatabase | null = null;
  let view: KeysView = { state: 'impossible', holderId: null, fingerprint: null };

  const opened = await openIn(options);
  if (opened !== null) {
    ({ database, memory } = opened);
    view = { ...view, state: 'none' };
    if (opened.holder !== null) await begin(opened.holder);
  }

  const store: KeyStore = {
    get primitives() {
      // The radio asks for it with a secret only, which comes from the keyring.
      if (keyring === null) throw new Error('there is no keyring');
      return keyring.primitives;
    },
    ...(memory !== null && { memory }),
    secretFor: (talkgroupId, counter) => keyring?.secretFor(talkgroupId, counter) ?? null,
    want(talkgroupId, counter, withinMs) {
      wanted.set(nameOf(talkgroupId, counter), { talkgroupId, counter });
      keyring?.want(talkgroupId, counter, withinMs);
      if (view.state === 'none') show({ ...view, state: 'needed' });
    },
    retry: () => keyring?.retry(),
    forget(talkgroupId, counter) {
      wanted.delete(nameOf(talkgroupId, counter));
      keyring?.forget(talkgroupId, counter);
    },
    onChange(run) {
      listeners.add(run);
      return () => listeners.delete(run);
    },
  };

  return {
    store,
    view: () => view,
    async register({ password, name }) {
      if (database === null) return { error: 'the browser keeps nothing for this page', status: 0 };
      const { registerHolder } = await loadKeyring();
      const key = await database.holder(userId);
      try {
        const { publicKey } = key;
        const { holderId, accepted } = await registerHolder(rest, { publicKey, password, name });
        await begin(await database.keepHolderId(userId, key, holderId));
        return { isAccepted: accepted };
      } catch (error) {
        return rejectionOf(error);
      }
    },
    async accept(wanted) {
      const holder = (await database?.registered(userId)) ?? null;
      if (holder === null) return { error: 'this browser has no key', status: 0 };
      const { acceptHolder } = await loadKeyring();
      try {
        await acceptHolder(rest, holder, wanted);
        return null;
      } catch (error) {
        return rejectionOf(error);
      }
    },
    async forget() {
      keyring?.close();
      keyring = null;
      await database?.forget(userId);
      show({ state: wanted.size > 0 ? 'needed' : 'none', holderId: null, fingerprint: null });
    },
  };

  async function begin(holder: Holder): Promise<void> {
    const { createKeyring, fingerprintOf } = await loadKeyring();
    keyring?.close();
    keyring = createKeyring({ rest, holder, ...(memory !== null && { memory }) });
    keyring.onChange((talkgroupId, missing) => {
      if (missing) wanted.delete(nameOf(talkgroupId, missing.wanted));
      for (const run of [...listeners]) run(talkgroupId, missing);
    });
    for (const { talkgroupId, counter } of wanted.values()) keyring.want(talkgroupId, counter);
    const { holderId } = holder;
    show({ state: 'registered', holderId, fingerprint: fingerprintOf(userId, holder) });
  }

  function show(next: KeysView): void {
    view = next;
    changed();
  }
}

/** null: this browser cannot keep a key. */
async function openIn({ userId, openDatabase }: DeskKeysOptions) {
  const open = async () => {
    const database = await openDatabase();
    const [memory, holder] = [await database.memory(userId), await database.registered(userId)];
    return { database, memory, holder };
  };
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(resolve, OPEN_MS_MAX, null);
  });
  try {
    return await Promise.race([open(), late]);
  } catch {
    return null; // InvalidStateError or SecurityError: a private window, or storage is blocked
  } finally {
    clearTimeout(timer);
  }
}

const nameOf = (talkgroupId: string, counter: number) => `${talkgroupId} ${counter}`;

/** Of a RestError, or of an error of the browser. */
function rejectionOf(error: unknown): Rejection {
  const { message, status = 0, retryAfterS = null } = error as Error & Partial<RestError>;
  return { error: message, status, ...(retryAfterS !== null && { retryAfterS }) };
}
