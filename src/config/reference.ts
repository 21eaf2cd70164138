// Writes the settings for readers: the generated part of docs/configuration.md, a commented .env file, JSON Schema.
import { Environment, type Setting, settings } from './environment.js';
import { type Group, groups, levels, MANY } from './setting.js';

/** Every group with its settings, the basic ones first. */
export function settingsByGroup(): readonly (readonly [Group, readonly (readonly [string, Setting])[]])[] {
  return (Object.keys(groups) as Group[]).map((group) => {
    const own = Object.entries(settings).filter(([, setting]) => setting.group === group);
    return [group, own.sort(([, a], [, b]) => levels.indexOf(a.level) - levels.indexOf(b.level))];
  });
}

/** As Markdown, for a page whose own headings end at the second level. */
export function settingsAsMarkdown(): string {
  return settingsByGroup()
    .map(([group, own]) => {
      const entries = own.map(([name, setting]) => entryOf(name, setting));
      return [`### ${group}`, groups[group], ...entries].filter((part) => part !== '').join('\n\n');
    })
    .join('\n\n');
}

function entryOf(name: string, setting: Setting): string {
  const { group, level, description, beyond, notes, unset } = setting;
  const facts = `${rangeOf(setting)}, ${presetOf(setting)}. *${group}, ${level}.*`;
  const text = notes === undefined ? description : `${description} ${notes}`;
  const cases = [
    ...(beyond === undefined ? [] : [`- Beyond it: ${beyond}`]),
    ...(unset === undefined ? [] : [`- Not set: ${unset}`]),
  ];
  const parts = [`#### \`${name}\``, facts, text, cases.join('\n')];
  return parts.filter((part) => part !== '').join('\n\n');
}

/** The values it takes, as in "Integer from 200 to 60000 (ms)". */
function rangeOf({ enum: values, type, minimum, maximum, unit, pattern, secret }: Setting): string {
  if (values !== undefined) return `One of ${values.map((value) => `\`${value}\``).join(', ')}`;
  if (type === 'integer') return `Integer from ${minimum} to ${maximum} (${unit})`;
  if (pattern !== undefined && secret === undefined) return `${capital(unit)}, each part from 1 to ${MANY}`;
  return capital(unit);
}

const presetOf = ({ default: preset }: Setting) =>
  preset === undefined ? 'no default' : `default \`${preset}\``;

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

/** As a file for `EnvironmentFile=`, `--env-file` and the like: every setting is commented out and shows its default. */
export function settingsAsEnvFile(): string {
  const parts = settingsByGroup().flatMap(([group, own]) => [
    `## ${group}`,
    ...own.map(([name, setting]) => {
      const { description, unset, default: preset = '' } = setting;
      const range = `${rangeOf(setting)}, ${presetOf(setting)}.`;
      const comment = [description, range, unset === undefined ? '' : `Not set: ${unset}`]
        .filter((line) => line !== '')
        .map((line) => `# ${line.replaceAll('`', '')}`);
      return [...comment, `#${name}=${preset}`].join('\n');
    }),
  ]);
  return parts.join('\n\n');
}

/** As a JSON Schema of an object with one property for each setting. */
export function settingsAsJsonSchema(): string {
  const { type, properties } = Environment;
  return JSON.stringify(
    {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      title: 'Talkgroup Radio Service: settings from the environment',
      type,
      properties,
    },
    null,
    2,
  );
}
