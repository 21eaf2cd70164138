// Creates the schema of one setting: its values, and the fields from which the page, the errors and the .env file are
// generated.
import { Type } from '../typebox.js';

/** The groups in the order of the reference. */
export const groups = {
  'Network and TLS': '',
  'Web console': '',
  Database: '',
  'Keys and accounts': '',
  'Login protection':
    'A value `burst/minute` such as `20/20` allows 20 at once. After these it allows 20 per minute. An IPv6 address counts by its first 64 bits. Each node counts for itself, and a restart resets the counts.',
  'REST limits': '',
  'Audio and talking':
    'These limits keep one session or one user from filling a talkgroup. A radio normally sends 50 frames and about 3000 bytes of payload per second.',
  'Recorded speech': 'A talkgroup is recorded when its `recording_days` is above 0. Every member sees that.',
  'Sessions and shutdown': '',
  'Several nodes': '',
  Logging: '',
} as const satisfies Record<string, string>;

export type Group = keyof typeof groups;

/** basic: set in most deployments. tuning: has a good default. expert: change it only after a measurement. */
export const levels = ['basic', 'tuning', 'expert'] as const;

/** The description of a setting. All texts are sentences in Markdown. */
export interface About {
  /** One sentence: what it does. */
  readonly description: string;
  readonly level: (typeof levels)[number];
  /** Of a number what it counts, of a text what kind of text it is. */
  readonly unit: string;
  /** What the service does when the limit is exceeded. Absent: the setting limits nothing. */
  readonly beyond?: string;
  readonly notes?: string;
  /** What happens when it is not set. Absent: it has a default. */
  readonly unset?: string;
}

interface Text extends About {
  /** Completes "NAME must ...", for refusals. */
  readonly must: string;
  readonly default?: string;
  readonly pattern?: string;
  /** No message and no list repeats its value. */
  readonly secret?: true;
}

interface Whole extends About {
  readonly minimum: number;
  readonly maximum: number;
  readonly default?: number;
}

/** The keywords of a setting that JSON Schema does not know. */
export const ownKeywords = ['group', 'level', 'unit', 'beyond', 'notes', 'unset', 'must', 'secret'] as const;

/** Maximum for a limit that an operator may want to lift. */
export const MANY = 1_000_000;

/** Both parts of `burst/minute`, from 1 to MANY. */
const RATE_PATTERN = '^([1-9]\\d{0,5}|1000000)/([1-9]\\d{0,5}|1000000)$';

/** The kinds of settings, for one group. */
export function settingsOf(group: Group) {
  return {
    text: (about: Text) => Type.String({ minLength: 1, group, ...about }),
    whole: (about: Whole) => Type.Integer({ group, ...about }),
    port: (about: Pick<About, 'description'> & { readonly default: number }) =>
      Type.Integer({
        minimum: 0,
        maximum: 65_535,
        group,
        level: 'basic',
        unit: 'port number',
        notes: 'At 0 the service takes a free port and prints it.',
        ...about,
      }),
    /** A burst, and a refill per minute. */
    rate: (about: About & { readonly default: string }) =>
      Type.String({
        pattern: RATE_PATTERN,
        must: `be burst/minute, two integers from 1 to ${MANY} such as ${about.default}`,
        group,
        ...about,
      }),
    choice: <const Values extends string[]>(
      values: readonly [...Values],
      about: About & { readonly default: Values[number] },
    ) => Type.Enum(values, { group, ...about }),
  };
}
