// Collects all settings in one table, in the order of the reference.
import { type Static, Type } from '../typebox.js';
import { accountSettings, loginSettings } from './access.js';
import { clusterSettings } from './cluster.js';
import { consoleSettings } from './console.js';
import { databaseSettings, networkSettings } from './network.js';
import { audioSettings, logSettings, sessionSettings } from './relay.js';
import { restSettings } from './rest.js';
import type { About, Group } from './setting.js';

/** Every variable that the service reads. */
export const Environment = Type.Object({
  ...networkSettings,
  ...consoleSettings,
  ...databaseSettings,
  ...accountSettings,
  ...loginSettings,
  ...restSettings,
  ...audioSettings,
  ...sessionSettings,
  ...clusterSettings,
  ...logSettings,
});

/** The values as the table types them. */
export type Env = Static<typeof Environment>;

/** The schema of one setting with all its keywords. */
export interface Setting extends About {
  readonly group: Group;
  readonly type?: 'string' | 'integer';
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly default?: string | number;
  readonly pattern?: string;
  readonly must?: string;
  readonly secret?: true;
}

/** All settings by name. TypeBox keeps keywords that it does not know, but its types forget them. */
export const settings = Environment.properties as unknown as Readonly<Record<string, Setting>>;

/** Names of earlier versions. The value says what to do instead. */
const FORMER: Readonly<Record<string, string>> = {
  SESSIONS_PARKED: 'is now called RESUMABLE_SESSIONS',
  CONTROL_PER_SECOND: 'is now called TEXTS_PER_SECOND',
  LOGIN_FAILURES_PAIR_PER_MINUTE: 'is now part of LOGIN_FAILURES_PAIR, written burst/minute such as 20/20',
  LOGIN_FAILURES_NAME_PER_MINUTE: 'is now part of LOGIN_FAILURES_NAME, written burst/minute such as 200/60',
  LOGIN_FAILURES_ADDRESS_PER_MINUTE:
    'is now part of LOGIN_FAILURES_ADDRESS, written burst/minute such as 500/300',
  DATABASE_CALLS: 'is no longer a setting: remove it',
  LOGINS_REMEMBERED: 'is no longer a setting: remove it',
  UPGRADES_LOADING: 'is no longer a setting: remove it',
  UPGRADES_WAITING: 'is no longer a setting: remove it',
};

/** The error for the first name that an earlier version used. null: no name is a former setting. */
export function formerOf(names: readonly string[]): string | null {
  const name = names.find((name) => Object.hasOwn(FORMER, name));
  return name === undefined ? null : `${name} ${FORMER[name]}`;
}
