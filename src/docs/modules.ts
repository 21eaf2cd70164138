// Lists the modules of src and bench, what each is for and which modules it may import. test/modules.test.ts checks the
// imports, and docs/modules.md has those of src as a table.
import { benchModules } from './bench-modules.js';
import { clientModules } from './client-modules.js';
import { relayModules } from './relay-modules.js';

/**
 * A module is a folder with the file of the same name beside it. A file that is in no module is ground: any module may
 * import it, and it builds the program from the modules.
 */
export interface Module {
  readonly purpose: string;
  /** Other modules that it may import, types included. */
  readonly imports: readonly string[];
}

/** By path from the root of the repository. */
export type Modules = Readonly<Record<string, Module>>;

const serviceModules: Modules = {
  'src/audit': {
    purpose: 'the audit log: reads it, deletes what is old, counts acts',
    imports: ['src/db', 'src/http', 'src/protocol'],
  },
  'src/auth': {
    purpose: 'accounts, tokens, the hash queue, login limits, the guard of REST',
    imports: ['src/credentials', 'src/db', 'src/http'],
  },
  'src/config': {
    purpose: 'environment variables as a frozen `Config`',
    imports: ['src/credentials', 'src/keys'],
  },
  'src/credentials': {
    purpose: 'what a username, a password and a signing key is',
    imports: [],
  },
  'src/db': {
    purpose: 'SQL client, notifications, migrations, embedded PostgreSQL',
    imports: [],
  },
  'src/devices': {
    purpose: 'devices, their links to users, and the caller with its device',
    imports: ['src/db', 'src/http'],
  },
  'src/directory': {
    purpose: 'what the relay reads: accounts, memberships, talkgroups',
    imports: ['src/db', 'src/protocol'],
  },
  'src/docs': {
    purpose: 'writes generated pages: `make docs`',
    imports: ['src/config', 'src/console', 'src/http', 'src/metrics', 'src/protocol'],
  },
  'src/emergencies': {
    purpose: 'emergencies by REST, and their rows',
    imports: ['src/db', 'src/http'],
  },
  'src/fleet': {
    purpose: 'a fleet from a CSV file and to one: the plan of an import, and its rows',
    imports: ['src/credentials', 'src/db', 'src/http'],
  },
  'src/gps': {
    purpose: 'positions, stored many at a time',
    imports: ['src/db', 'src/http', 'src/protocol'],
  },
  'src/http': {
    purpose: 'the steps of a REST request, the OpenAPI document, the files of the console',
    imports: ['src/db'],
  },
  'src/holders': {
    purpose: 'key holders: installations for which the service seals keys',
    imports: ['src/db', 'src/http', 'src/protocol'],
  },
  'src/keys': {
    purpose: 'key rotation, sealed keys, master secrets and their encryption',
    imports: ['src/db', 'src/http', 'src/protocol'],
  },
  'src/local': {
    purpose: 'a cluster or a sandbox on this machine, to try it out',
    imports: ['src/auth', 'src/client/rest', 'src/client/terminal', 'src/config', 'src/db', 'src/fleet'],
  },
  'src/metrics': {
    purpose: 'all metrics, and `GET /metrics`',
    imports: [
      ...[
        'src/audit',
        'src/auth',
        'src/db',
        'src/gps',
        'src/http',
        'src/keys',
        'src/recordings',
        'src/relay/relay-side',
        'src/tls',
      ],
    ],
  },
  'src/protocol': {
    purpose: 'the wire: frames, messages, codes, closes',
    imports: [],
  },
  'src/recordings': {
    purpose: 'stores recorded speech, lists and serves it, and deletes it',
    imports: ['src/db', 'src/http', 'src/protocol'],
  },
  'src/talkgroups': {
    purpose: 'talkgroups and their members',
    imports: ['src/db', 'src/http', 'src/protocol'],
  },
  'src/tls': {
    purpose: 'certificate files, renewal, the command `reload`',
    imports: [],
  },
  'src/users': {
    purpose: 'the list of users, one user, deletion, and the revocation of tokens',
    imports: ['src/credentials', 'src/db', 'src/http', 'src/protocol'],
  },
};

const consoleModules: Modules = {
  'src/console': {
    purpose:
      'the web console: login, talkgroups, talking, keys, alarms, members, administration, map, recordings',
    imports: [
      'src/client/audio',
      'src/client/clock',
      'src/client/encryption',
      'src/client/radio',
      'src/client/recordings',
      'src/client/sound',
      'src/console/worker',
    ],
  },
  'src/console/build': {
    purpose: 'bundles the console into dist/console',
    imports: ['src/console'],
  },
  'src/console/worker': {
    purpose: 'the radio of the console, in a worker',
    imports: [
      'src/client/audio',
      'src/client/clock',
      'src/client/connection',
      'src/client/encryption',
      'src/client/radio',
      'src/client/recall',
      'src/client/sound',
      'src/protocol',
    ],
  },
};

export const modules: Modules = {
  ...serviceModules,
  ...relayModules,
  ...clientModules,
  ...consoleModules,
  ...benchModules,
};
