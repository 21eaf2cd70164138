// Writes the error that stops the start when a setting has a wrong value.
import { type Setting, settings } from './environment.js';
import { MANY } from './setting.js';

/** A setting has a wrong value, or two settings contradict each other. The process prints this sentence and exits. */
export class ConfigError extends Error {
  override name = 'ConfigError';
}

/** Throws "NAME must ..., got ...". The value is repeated unless the setting is a secret. */
export function refuse(name: string, value?: string): never {
  const setting = settings[name];
  if (setting === undefined) throw new ConfigError(`${name} is not a setting`);
  const got = value === undefined || setting.secret ? '' : `, got ${JSON.stringify(value)}`;
  throw new ConfigError(`${name} must ${requirementOf(setting)}${got}`);
}

/** Null unless listening failed because the port of this setting is in use or not permitted. */
export function portError(
  error: unknown,
  { name, host, port }: { readonly name: string; readonly host: string; readonly port: number },
): ConfigError | null {
  const { code } = error as NodeJS.ErrnoException;
  if (code !== 'EADDRINUSE' && code !== 'EACCES') return null;
  const reason = code === 'EACCES' ? 'permission denied' : 'in use';
  return new ConfigError(`cannot listen on ${name} ${port} of ${host}: ${reason} (${code})`);
}

function requirementOf({
  enum: values,
  type,
  minimum = 0,
  maximum = MANY,
  unit,
  must = '',
}: Setting): string {
  if (values !== undefined) return `be one of ${values.join(', ')}`;
  if (type === 'integer') return `be an integer from ${minimum} to ${maximum} (${unit})`;
  return must;
}
