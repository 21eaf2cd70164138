// Collects all settings in one table, in the order of the reference.
import { type Static, Type } from '../typebox.js';
import { accountSettings, loginSettings } from './access.js';
import { clusterSettings } from './cluster.js';
import { consoleSettings } from './console.js';
import { databaseSettings, networkSettings } from './network.js';
import { recordingSettings } from './recordings.js';
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
  ...recordingSettings,
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
