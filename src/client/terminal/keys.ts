// Opens the keys of a radio in a terminal: its holder in a file, registered at the first time.
import {
  createKeyring,
  createRest,
  fingerprintOf,
  type KeyStore,
  keepHolderId,
  openHolderFile,
  openMemoryFile,
  type RecordingKeys,
  recordingKeys,
  registerHolder,
} from '../node.js';

/** The service says only that there is none for this key holder. */
const NOT_FOR_HOLDER =
  'another device of the account, or an administrator, must accept this key holder, or permit its user to have keys';

/** Of the user that a token is for. */
function subjectOf(token: string): string {
  const [, claims = ''] = token.split('.');
  return (JSON.parse(Buffer.from(claims, 'base64url').toString()) as { sub: string }).sub;
}

export type HeldKeys = {
  readonly store: KeyStore;
  readonly recordings: RecordingKeys;
  /** Ends all requests, and writes what the radio remembers. */
  close(): Promise<void>;
};

/**
 * `rest`: address of the REST API. `holder`: path of the file with the private key, mode 0600, created if it is missing.
 * `password`: asks for that of the user, which the service wants for a new holder. Rejects if the file cannot be used or
 * the service rejects the holder.
 */
export async function openKeys({
  rest: url,
  token,
  holder: path,
  password,
  report = () => {},
}: {
  rest: string;
  token: string;
  holder: string;
  password: () => Promise<string>;
  report?: (line: string) => void;
}): Promise<HeldKeys> {
  const rest = createRest({ url, token });
  const stored = await openHolderFile(path);
  let { holderId } = stored;
  if (holderId === null) {
    const { publicKey } = stored;
    const made = await registerHolder(rest, { publicKey, password: await password(), name: 'terminal' });
    const digits = await fingerprintOf({
      userId: subjectOf(token),
      publicKey: Buffer.from(publicKey).toString('base64url'),
    });
    report(`new key holder, fingerprint ${digits ?? made.fingerprint}`);
    if (!made.accepted)
      report('it gets keys after an administrator or another device has accepted the fingerprint');
    await keepHolderId(path, stored, made.holderId);
    holderId = made.holderId;
  }
  const holder = { ...stored, holderId };
  const memory = await openMemoryFile(`${path}.heard`, ({ message }) => report(message));
  let isTold = false;
  const keyring = createKeyring({
    ...{ rest, holder, memory },
    onFailure(_, { status, message }) {
      if (!isTold) report(`no key yet: ${status === 404 ? NOT_FOR_HOLDER : message}`);
      isTold = true;
    },
  });
  return {
    store: keyring,
    recordings: recordingKeys({ rest, holder }),
    async close() {
      keyring.close();
      await memory.close();
    },
  };
}
