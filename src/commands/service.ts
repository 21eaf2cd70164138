// Runs the commands about the service itself: schema, settings, certificate.
import { namesSet, readConfig, readSettings } from '../config/config.js';
import { effectiveSettings } from '../config/effective.js';
import { settingsAsEnvFile, settingsAsJsonSchema, settingsAsMarkdown } from '../config/reference.js';
import { migrate } from '../db/migrate.js';
import { askToReload } from '../tls/reload.js';
import { fail, withDatabaseUrl } from './running.js';

/** Migrates the database to the schema version of this release. */
export async function migrateCommand(): Promise<void> {
  console.log(`database at version ${await withDatabaseUrl(migrate, { mayCreate: true })}`);
}

/** Makes the running service read its certificate now. */
export async function reloadCommand(): Promise<void> {
  const config = readSettings();
  const { isPresented, text } = await askToReload(config);
  if (!isPresented) fail(text);
  console.log(text);
}

/** Prints the effective settings, or with a format the reference of all settings. */
export function configCommand(format?: keyof typeof references): void {
  console.log(format === undefined ? effectiveSettings(readConfig(), namesSet()) : references[format]());
}

const references = { md: settingsAsMarkdown, env: settingsAsEnvFile, json: settingsAsJsonSchema };

/** Throws ConfigError when a setting is wrong. */
export const checkSettings = (): void => void readConfig();
