// Lists the routes of the REST API, for the service and for its reference.
import { auditRoutes } from './audit/routes.js';
import type { Limits } from './auth/limits.js';
import { createOwnPassword } from './auth/own-password.js';
import type { Passwords } from './auth/passwords.js';
import { authRoutes } from './auth/routes.js';
import { settingRoutes } from './auth/setting/routes.js';
import { setupRoutes } from './auth/setup/routes.js';
import type { Config } from './config/config.js';
import type { Database } from './db/client.js';
import type { Tell } from './db/notice.js';
import { linkRoutes } from './devices/links/routes.js';
import { deviceRoutes } from './devices/routes.js';
import { emergencyRoutes } from './emergencies/routes.js';
import type { StoreFix } from './gps/intake.js';
import { gpsRoutes } from './gps/routes.js';
import type { Proofs } from './holders/proof.js';
import { holderRoutes } from './holders/routes.js';
import { consoleRoutes } from './http/console/console.js';
import { discoveryRoutes } from './http/discovery/discovery.js';
import type { Lists } from './http/lists.js';
import type { ConsoleSettings } from './http/settings.js';
import { permissionRoutes } from './keys/permissions/routes.js';
import { keyRoutes } from './keys/routes.js';
import type { Sealing } from './keys/sealing.js';
import type { Keyring } from './keys/wrapping.js';
import { missedRoutes } from './recordings/missed/routes.js';
import { recordingRoutes } from './recordings/routes.js';
import { talkgroupRoutes } from './talkgroups/routes.js';
import { diagnosisRoutes } from './users/diagnosis/routes.js';
import { userRoutes } from './users/routes.js';

export interface RestParts {
  readonly config: Pick<
    Config,
    | 'PASSWORD_MIN_LENGTH'
    | 'REGISTRATION'
    | 'TALKGROUP_DIRECTORY'
    | 'ADMIN_USERNAME'
    | 'RECORDING_ACCESS'
    | 'RECORDING_GB'
  > &
    ConsoleSettings;
  readonly database: Database;
  readonly tell: Tell;
  readonly lists: Lists;
  readonly passwords: Passwords;
  readonly limits: Limits;
  readonly keyring: Keyring;
  readonly sealing: Sealing;
  readonly proofs: Proofs;
  /** Whether every relay of the service rejects clear audio where encryption is required. */
  readonly isEnforced: () => Promise<boolean>;
  /** Whether every relay of the service records. */
  readonly isRecorded: () => Promise<boolean>;
  readonly storeFix: StoreFix;
  /** The speech of a recording was read. */
  readonly wasRead: () => void;
  /** Port of the relay, once it listens. */
  readonly wsPort: () => number;
  /** Of the built console, for tests. */
  readonly consoleFolder?: string | undefined;
}

/** The routes of all features. Until one is called, they use only the settings. */
export function restRoutes(parts: RestParts) {
  const { config, database, tell, lists, passwords, limits, keyring } = parts;
  const { sealing, proofs, isEnforced, isRecorded, storeFix, wasRead, wsPort, consoleFolder } = parts;
  const { PASSWORD_MIN_LENGTH: passwordLengthMin, REGISTRATION: registration } = config;
  return [
    authRoutes({
      ...{ database, passwords, limits, passwordLengthMin, registration },
      adminUsername: config.ADMIN_USERNAME,
    }),
    settingRoutes({ database, tell, passwords, passwordLengthMin }),
    setupRoutes({ database, tell, passwords, limits, passwordLengthMin }),
    userRoutes({ database, tell }),
    diagnosisRoutes({ database }),
    auditRoutes({ database }),
    talkgroupRoutes({
      ...{ database, tell, lists, keyring, enforce: isEnforced },
      directory: config.TALKGROUP_DIRECTORY,
      record: async () =>
        config.RECORDING_GB === 0 ? 'recording_off' : (await isRecorded()) ? null : 'not_recorded_by_all',
    }),
    deviceRoutes({ database, tell, lists }),
    linkRoutes({ database, tell }),
    gpsRoutes({ database, storeFix }),
    keyRoutes({ database, tell, sealing, keyring }),
    permissionRoutes({ database, tell }),
    holderRoutes({
      ...{ database, tell, sealing, proofs },
      proveOwner: createOwnPassword({ database, passwords, limits }),
    }),
    emergencyRoutes({ database, tell, lists }),
    recordingRoutes({ database, access: config.RECORDING_ACCESS, wasRead }),
    missedRoutes({ database, access: config.RECORDING_ACCESS }),
    discoveryRoutes({ config, wsPort }),
    consoleRoutes({ config, wsPort, folder: consoleFolder }),
  ];
}
