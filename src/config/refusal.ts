// Writes the error that stops the start when a setting has a wrong value.
import { ConfigError } from '../errors.js';
import { type Setting, settings } from './environment.js';
import { MANY } from './setting.js';

/** Throws "NAME must ..., got ...". The value is repeated unless the setting is a secret. */
export function refuse(name: string, value?: string): never {
  const setting = settings[name];
  if (setting === undefined) throw new ConfigError(`${name} is not a setting`);
  const got = value === undefined || setting.secret ? '' : `, got ${JSON.stringify(value)}`;
  throw new ConfigError(`${name} must ${requirementOf(setting)}${got}`);
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
