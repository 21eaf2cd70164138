// Runs the commands that manage the master secrets of talkgroups.
import { readConfig } from '../config/config.js';
import { noteAct } from '../db/acts.js';
import { EPOCHS_KEPT } from '../db/rotation.js';
import { type HolderId, readId, type TalkgroupId } from '../ids.js';
import { exportEpochs } from '../keys/exporting.js';
import { checkSecrets, renewSecretOf, rewrapSecrets } from '../keys/secrets.js';
import { createKeyring } from '../keys/wrapping.js';
import { createLog } from '../log.js';
import { COMMAND_MS, fail, operator, soon, withDatabase } from './running.js';

/** Encrypts the master secrets with the first key of SECRETS_KEY. */
export async function rotateSecretsCommand(): Promise<void> {
  const keyring = createKeyring(readConfig().SECRETS_KEY);
  const { wrapsWith } = keyring;
  if (wrapsWith === null) fail('SECRETS_KEY is not set: no key to encrypt with');
  const { wrapped, unreadable, left } = await withDatabase(
    async (database) => {
      await checkSecrets(database, soon(), keyring);
      return rewrapSecrets(database, { keyring, by: operator() });
    },
    { mayCreate: false },
  );
  console.log(`secrets encrypted with key ${wrapsWith}: ${wrapped}`);
  if (unreadable.length > 0) fail(`cannot decrypt the secrets of these talkgroups: ${unreadable.join(', ')}`);
  if (left > 0) fail(`${left} secrets were added by nodes with a different first key: run the command again`);
}

/** Prints the keys of a talkgroup, sealed for one key holder, as JSON. */
export async function exportSecretsCommand(options: ExportOptions): Promise<void> {
  const talkgroup = readIdOf<TalkgroupId>('--talkgroup', options.talkgroup);
  const holder = readIdOf<HolderId>('--holder', options.holder);
  const epochs = /^[1-9]\d?$/.test(options.epochs) ? Number(options.epochs) : 0;
  if (epochs < 1 || epochs > EPOCHS_KEPT)
    fail(`--epochs must be an integer from 1 to ${EPOCHS_KEPT}, got "${options.epochs}"`);
  const keyring = createKeyring(readConfig().SECRETS_KEY);
  const parts = { keyring, log: createLog('warn'), ms: COMMAND_MS };
  const exported = await withDatabase(
    async (database) => {
      const keys = await exportEpochs({ database, ...parts }, { talkgroup, holder, epochs });
      // Before they are printed: no keys are out that no act names.
      if (keys !== null && typeof keys !== 'string')
        await noteAct(database, soon(), operator(), {
          act: 'keys_exported',
          ...{ talkgroup, details: { holder_id: holder, epochs: keys.epochs.length } },
        });
      return keys;
    },
    { mayCreate: false },
  );
  if (exported === null)
    fail(
      `key holder ${holder} gets no keys of talkgroup ${talkgroup}: accept it, and permit its user, a member, to have keys`,
    );
  if (typeof exported === 'string') fail(cannotDecrypt(talkgroup, exported));
  console.log(JSON.stringify(exported));
}

export interface ExportOptions {
  readonly talkgroup: string;
  readonly holder: string;
  readonly epochs: string;
}

const cannotDecrypt = (talkgroup: TalkgroupId, why: 'unknown_key' | 'damaged') =>
  why === 'unknown_key'
    ? `cannot decrypt the secret of talkgroup ${talkgroup}: set SECRETS_KEY as for the service`
    : `cannot decrypt the secret of talkgroup ${talkgroup}: it was changed in the database`;

interface RenewOptions {
  readonly talkgroup: string;
  readonly restored?: boolean;
  readonly forgetRecordings?: boolean;
}

/** Replaces the master secret of a talkgroup and rotates its keys. */
export async function renewSecretCommand(options: RenewOptions): Promise<void> {
  const { restored: isRestored = false, forgetRecordings: mayForget = false } = options;
  const talkgroup = readIdOf<TalkgroupId>('--talkgroup', options.talkgroup);
  const keyring = createKeyring(readConfig().SECRETS_KEY);
  const renewed = await withDatabase(
    async (database) => {
      await checkSecrets(database, soon(), keyring); // else nodes could not decrypt the new one
      return renewSecretOf(database, soon(), { talkgroup, keyring, isRestored, mayForget, by: operator() });
    },
    { mayCreate: false },
  );
  if (renewed === null) fail(`no such talkgroup: ${talkgroup}`);
  if (renewed === 'no_secrets_key')
    fail(`SECRETS_KEY is not set, and the secret of talkgroup ${talkgroup} is encrypted`);
  if ('recordings_encrypted' in renewed)
    fail(
      `${renewed.recordings_encrypted} encrypted recordings of talkgroup ${talkgroup} would be lost. To renew it all the same, add --forget-recordings`,
    );
  console.log(`${talkgroup}: renewed, rotation counter ${renewed.rotation_counter}`);
}

function readIdOf<Id extends TalkgroupId | HolderId>(option: string, text: string): Id {
  return readId<Id>(text) ?? fail(`${option} must be an id, got "${text}"`);
}
