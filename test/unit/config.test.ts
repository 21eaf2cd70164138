// Reads settings: values that are rejected, their error texts, and the page that lists all settings.

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { inspect } from 'node:util';
import t from 'tap';
import { warnOfClearText } from '../../src/config/clear-text.js';
import { checkOpenFiles, readConfig } from '../../src/config/config.js';
import { settings } from '../../src/config/environment.js';
import { settingsAsEnvFile, settingsAsJsonSchema } from '../../src/config/reference.js';
import { groups, levels } from '../../src/config/setting.js';
import { readSecretsKey } from '../../src/config/values.js';
import { ConfigError } from '../../src/errors.js';
import { markdownFiles } from '../helpers/pages/pages.js';

t.test('an empty environment gives a service that listens on the loopback only', async (t) => {
  t.match(readConfig({}), {
    HOST: '127.0.0.1',
    PORT: 3000,
    WS_PORT: 3001,
    RELAY_THREADS: 1,
    CORS_ORIGINS: null,
  });
});

t.test('an empty variable counts as unset', async (t) => {
  t.equal(readConfig({ PORT: '', DATABASE_URL: '' }).PORT, 3000);
});

const KEY = 'a key of more than thirty-two bytes, and typed';
const drawn = (name: string) => createHash('sha256').update(name).digest();

const refused: [variable: string, environment: Record<string, string>][] = [
  ['PORT', { PORT: 'x' }],
  ['PORT', { PORT: '65536' }],
  ['PORT', { PORT: '-1' }],
  ['PORT', { PORT: '30.5' }],
  ['PORT', { PORT: '0x10' }],
  ['PORT', { PORT: '1e3' }],
  ['PORT', { PORT: ' 80' }],
  ['WS_PORT', { WS_PORT: 'true' }],
  ['LOG_LEVEL', { LOG_LEVEL: 'loud' }],
  ['RELAY_THREADS', { RELAY_THREADS: '17' }],
  ['TALK_SILENCE_MS', { TALK_SILENCE_MS: '1' }],
  ['TLS_KEY_FILE', { TLS_CERT_FILE: 'cert.pem' }],
  ['TLS_CERT_FILE', { TLS_KEY_FILE: 'key.pem' }],
  ['DATABASE_URL', { DATABASE_URL: 'mysql://host/name' }],
  ['DATABASE_URL', { DATABASE_URL: 'postgres://' }],
  ['DATABASE_URL', { DATABASE_URL: 'postgres:///' }],
  ['DATABASE_URL', { DATABASE_URL: 'postgres://host:notaport/name' }],
  ['DATABASE_URL', { DATABASE_URL: 'postgres://ann:%zz@host/name' }],
  ['JWT_SECRET', { DATABASE_URL: 'postgres://host/name' }],
  ['JWT_SECRET', { JWT_SECRET: '31 bytes are one byte too few..' }],
  ['JWT_SECRET', { JWT_SECRET: 'x'.repeat(64) }],
  ['JWT_SECRET', { JWT_SECRET: '0123456789abcdef0123456789abcdef01' }],
  ['JWT_SECRET', { JWT_SECRET: 'please-CHANGE_me: thirty-two bytes' }],
  ['JWT_SECRET', { JWT_SECRET: 'a-string-secret-at-least-256-bits-long' }],
  [
    'JWT_SECRET',
    { JWT_SECRET: 'AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow' },
  ],
  ['JWT_SECRET_PREVIOUS', { JWT_SECRET_PREVIOUS: '31 bytes are one byte too few..' }],
  ['JWT_SECRET_PREVIOUS', { JWT_SECRET_PREVIOUS: 'your-secret-key-must-be-changed!' }],
  ['JWT_SECRET_PREVIOUS', { JWT_SECRET: KEY, JWT_SECRET_PREVIOUS: KEY }],
  ['SECRETS_KEY', { SECRETS_KEY: 'changeme' }],
  ['SECRETS_KEY', { SECRETS_KEY: KEY }],
  ['SECRETS_KEY', { SECRETS_KEY: ',' }],
  ['SECRETS_KEY', { SECRETS_KEY: drawn('a').subarray(1).toString('base64') }],
  ['SECRETS_KEY', { SECRETS_KEY: Buffer.concat([drawn('a'), Buffer.of(0)]).toString('base64') }],
  ['SECRETS_KEY', { SECRETS_KEY: drawn('a').subarray(1).toString('hex') }],
  ['SECRETS_KEY', { SECRETS_KEY: `!${drawn('a').toString('base64')}` }],
  ['SECRETS_KEY', { SECRETS_KEY: `${drawn('a').toString('hex')},` }],
  ['SECRETS_KEY', { SECRETS_KEY: Buffer.alloc(32).toString('hex') }],
  ['SECRETS_KEY', { SECRETS_KEY: Buffer.alloc(32, 'ab', 'hex').toString('base64') }],
  ['SECRETS_KEY', { SECRETS_KEY: '0123456789abcdef'.repeat(4) }],
  ['SECRETS_KEY', { SECRETS_KEY: Buffer.from([...Array(32).keys()]).toString('hex') }],
  ['SECRETS_KEY', { SECRETS_KEY: Buffer.from('a typed text of thirty-two bytes').toString('base64') }],
  ['SECRETS_KEY', { SECRETS_KEY: `${drawn('a').toString('hex')},${drawn('a').toString('base64')}` }],
  ['ADMIN_PASSWORD', { ADMIN_PASSWORD: 'Admin' }],
  ['ADMIN_PASSWORD', { ADMIN_PASSWORD: 'Change-me!' }],
  ['ADMIN_PASSWORD', { ADMIN_PASSWORD: 'secret123' }],
  ['ADMIN_PASSWORD', { ADMIN_PASSWORD: '12345678' }],
  ['ADMIN_PASSWORD', { ADMIN_PASSWORD: 'xxxxxxxxxxxx' }],
  ['ADMIN_PASSWORD', { ADMIN_USERNAME: 'Chief', ADMIN_PASSWORD: 'chief' }],
  ['ADMIN_PASSWORD', { ADMIN_PASSWORD: 'ä'.repeat(37) }],
  ['ADMIN_PASSWORD', { ADMIN_PASSWORD: 'se\0cret' }],
  ['ADMIN_PASSWORD', { ADMIN_PASSWORD: 'äöü', PASSWORD_MIN_LENGTH: '4' }],
  ['ADMIN_USERNAME', { ADMIN_USERNAME: 'x'.repeat(65) }],
  ['ADMIN_USERNAME', { ADMIN_USERNAME: 'ann\t' }],
  ['CORS_ORIGINS', { CORS_ORIGINS: 'radio.example' }],
  ['CORS_ORIGINS', { CORS_ORIGINS: 'https://radio.example/' }],
  ['CORS_ORIGINS', { CORS_ORIGINS: 'capacitor://localhost/app' }],
  ['CORS_ORIGINS', { CORS_ORIGINS: 'capacitor:' }],
  ['CONSOLE', { CONSOLE: 'yes' }],
  ['PUBLIC_WS_URL', { PUBLIC_WS_URL: 'radio.example' }],
  ['PUBLIC_WS_URL', { PUBLIC_WS_URL: 'https://radio.example' }],
  ['PUBLIC_WS_URL', { PUBLIC_WS_URL: 'wss://' }],
  ['PUBLIC_WS_URL', { PUBLIC_WS_URL: 'wss://ann:secret@radio.example' }],
  ['PUBLIC_WS_URL', { PUBLIC_WS_URL: 'wss://@radio.example' }],
  ['PUBLIC_WS_URL', { PUBLIC_WS_URL: 'wss://radio.example/ws?token=x' }],
  ['PUBLIC_WS_URL', { PUBLIC_WS_URL: 'wss://radio.example/#' }],
  ['PUBLIC_WS_URL', { PUBLIC_WS_URL: 'wss://*.example' }],
  ['PUBLIC_WS_URL', { PUBLIC_WS_URL: "wss://a;script-src'self'" }],
  ['PUBLIC_WS_URL', { PUBLIC_WS_URL: 'wss://radio.example, wss://b.example' }],
  ['PUBLIC_WS_URL', { PUBLIC_WS_URL: ' wss://radio.example' }],
  ['PUBLIC_WS_URL', { PUBLIC_WS_URL: 'ws://[::1]:3001' }],
  ['MAP_STYLE_URL', { MAP_STYLE_URL: 'style.json' }],
  ['MAP_STYLE_URL', { MAP_STYLE_URL: 'http://tiles.example/style.json' }],
  ['MAP_STYLE_URL', { MAP_STYLE_URL: 'https://ann@tiles.example/style.json' }],
  ['MAP_STYLE_URL', { MAP_STYLE_URL: 'https://tiles.example/style.json#x' }],
  ['MAP_STYLE_URL', { MAP_STYLE_URL: 'https://*/style.json' }],
  ['MAP_STYLE_URL', { MAP_STYLE_URL: 'javascript:alert(1)' }],
  ['MAP_FILE', { MAP_FILE: '/no/such/file.pmtiles' }],
  ['MAP_FILE', { MAP_FILE: 'package.json' }],
  ['MAP_STYLE_URL', { MAP_FILE: 'package.json', MAP_STYLE_URL: 'https://tiles.example/style.json' }],
  ['MAP_ORIGINS', { MAP_ORIGINS: '*' }],
  ['MAP_ORIGINS', { MAP_ORIGINS: 'https://*' }],
  ['MAP_ORIGINS', { MAP_ORIGINS: 'https://*.example' }],
  ['MAP_ORIGINS', { MAP_ORIGINS: 'https://tiles.example/' }],
  ['MAP_ORIGINS', { MAP_ORIGINS: 'https://tiles.example/path' }],
  ['MAP_ORIGINS', { MAP_ORIGINS: 'http://tiles.example' }],
  ['MAP_ORIGINS', { MAP_ORIGINS: 'tiles.example' }],
  ['MAP_ORIGINS', { MAP_ORIGINS: 'https:' }],
  ['MAP_ORIGINS', { MAP_ORIGINS: "https://a.example 'unsafe-inline'" }],
  ['MAP_ORIGINS', { MAP_ORIGINS: 'https://a.example;script-src *' }],
  ['MAP_ORIGINS', { MAP_ORIGINS: 'https://a.example, data:' }],
  ['TRUST_PROXY', { TRUST_PROXY: 'true' }],
  ['TRUST_PROXY', { TRUST_PROXY: 'loopback' }],
  ['TRUST_PROXY', { TRUST_PROXY: '10.0.0.0/33' }],
  ['TRUST_PROXY', { TRUST_PROXY: '0.0.0.0/0' }],
  ['TRUST_PROXY', { TRUST_PROXY: '10.0.0.0/' }],
  ['TRUST_PROXY', { TRUST_PROXY: '10.0.0.0/8/8' }],
  ['TRUST_PROXY', { TRUST_PROXY: '10.0.0.0/255.0.0.0' }],
  ['TRUST_PROXY', { TRUST_PROXY: '10.0.0.1, 2001:db8::/129' }],
  ['TRUST_PROXY', { TRUST_PROXY: 'fe80::1%eth0' }],
  ['LOGIN_FAILURES_PAIR', { LOGIN_FAILURES_PAIR: '0' }],
  ['LOGIN_FAILURES_PAIR', { LOGIN_FAILURES_PAIR: '20' }],
  ['LOGIN_FAILURES_PAIR', { LOGIN_FAILURES_PAIR: '0/20' }],
  ['LOGIN_FAILURES_NAME', { LOGIN_FAILURES_NAME: '200/0' }],
  ['LOGIN_FAILURES_ADDRESS', { LOGIN_FAILURES_ADDRESS: '500/1000001' }],
  ['LOGIN_FAILURES_ADDRESS', { LOGIN_FAILURES_ADDRESS: '500/300/100' }],
  ['HEADERS_TIMEOUT_S', { HEADERS_TIMEOUT_S: '11' }],
];

for (const [variable, environment] of refused) {
  t.test(`${JSON.stringify(environment)} is rejected with the name ${variable}`, async (t) => {
    t.throws(() => readConfig(environment), {
      name: ConfigError.prototype.name,
      message: new RegExp(`^${variable} (and TLS_KEY_FILE )?must .+`),
    });
  });
}

t.test('an error has the range, the unit and the value', async (t) => {
  for (const [environment, message] of [
    [{ TALK_SILENCE_MS: '5' }, 'TALK_SILENCE_MS must be an integer from 200 to 60000 (ms), got "5"'],
    [{ TALK_SILENCE_MS: '1e3' }, 'TALK_SILENCE_MS must be an integer from 200 to 60000 (ms), got "1e3"'],
    [{ REGISTRATION: 'no' }, 'REGISTRATION must be one of open, closed, got "no"'],
    [
      { LOGIN_FAILURES_NAME: '200' },
      'LOGIN_FAILURES_NAME must be burst/minute, two integers from 1 to 1000000 such as 200/60, got "200"',
    ],
    [{ HEADERS_TIMEOUT_S: '11' }, 'HEADERS_TIMEOUT_S must be at most REQUEST_TIMEOUT_S (10 s), got "11"'],
    [{ JWT_SECRET: 'short' }, 'JWT_SECRET must be at least 32 bytes and no well-known or repeated text'],
  ] as const) {
    t.throws(() => readConfig(environment), { name: 'ConfigError', message });
  }
});

t.test('a rate is read as its burst and its refill', async (t) => {
  const { LOGIN_FAILURES_PAIR, LOGIN_FAILURES_NAME } = readConfig({ LOGIN_FAILURES_NAME: '1000000/1' });
  t.same(LOGIN_FAILURES_PAIR, { atOnce: 20, perMinute: 20 });
  t.same(LOGIN_FAILURES_NAME, { atOnce: 1_000_000, perMinute: 1 });
});

t.test('an error does not repeat a secret', async (t) => {
  for (const environment of [
    { DATABASE_URL: 'mysql://user:hunter2@host/name' },
    { DATABASE_URL: 'postgres://user:hunter2@host:notaport/name' },
    { JWT_SECRET: 'hunter2' },
    { JWT_SECRET_PREVIOUS: 'hunter2' },
    { JWT_SECRET: 'hunter2 is an example of 32 bytes and more' },
    { SECRETS_KEY: 'hunter2' },
    { SECRETS_KEY: `${drawn('a').toString('hex')},hunter2` },
    { ADMIN_PASSWORD: 'hunter2', PASSWORD_MIN_LENGTH: '8' },
  ]) {
    try {
      readConfig(environment);
      t.fail('not refused');
    } catch (error) {
      t.notMatch((error as Error).message, /hunter2/);
    }
  }
});

t.test('a key of 32 bytes is long enough, counted in bytes', async (t) => {
  t.ok(readConfig({ JWT_SECRET: 'äöüßåøæœéèêëàâçñ' }).JWT_SECRET);
});

t.test(
  'SECRETS_KEY takes one or several keys in base64 or hexadecimal, and printing shows none of them',
  async (t) => {
    const keys = [drawn('a'), drawn('b'), drawn('c')] as const;
    const [a, b, c] = [keys[0].toString('base64'), keys[1].toString('hex'), keys[2].toString('hex')];
    const config = readConfig({ SECRETS_KEY: `${a}, ${b},${c.toUpperCase()}` });
    t.same(
      config.SECRETS_KEY.map((key) => key.export()),
      keys,
    );
    t.same(readConfig({}).SECRETS_KEY, []);
    for (const said of [JSON.stringify(config), inspect(config, { depth: null, showHidden: true })]) {
      for (const key of keys) {
        t.notOk(said.includes(key.toString('hex')));
        t.notOk(said.includes([...key.subarray(0, 4)].join(',')), 'nor as a list of numbers');
      }
    }
  },
);

t.test('the service accepts no key or password that a document shows', async (t) => {
  const text = documents()
    .map((path) => readFileSync(path, 'utf8'))
    .join('\n');
  for (const [, name = '', value = ''] of text.matchAll(/\b([A-Z_]*(?:SECRET|KEY|PASSWORD)\w*)=([^\s`]*)/g)) {
    if (!(name in settings)) continue;
    t.match(value, /^("?\$|\.\.\.|$)/, `${name} is drawn, or left to the reader`);
  }
  for (const word of new Set(text.match(/[\w+/-]{32,}={0,2}/g))) {
    t.throws(() => readSecretsKey(word), `${word} is no key`);
  }
  for (const [, password = ''] of text.matchAll(/"password\\?":\\?"([^"\\$]+)/g)) {
    t.throws(() => readConfig({ ADMIN_PASSWORD: password }), /^ADMIN_PASSWORD/, password);
  }
});

t.test('of settings that send clear text over a network the start warns', async (t) => {
  const database = (DATABASE_URL: string) => ({ DATABASE_URL, JWT_SECRET: KEY });
  const warned = (given: Readonly<Record<string, string>>) => {
    const names: unknown[] = [];
    const warn = ({ setting }: { setting?: string }) => void names.push(setting);
    warnOfClearText(readConfig(given), { warn });
    return names;
  };
  for (const HOST of ['0.0.0.0', '::', '192.0.2.1', 'radio.example'])
    t.strictSame(warned({ HOST }), ['HOST'], HOST);
  for (const HOST of ['127.0.0.1', '127.1.2.3', '::1', '0:0:0:0:0:0:0:1', '::ffff:127.0.0.1', 'localhost'])
    t.strictSame(warned({ HOST }), [], HOST);
  t.strictSame(warned({ HOST: '0.0.0.0', TRUST_PROXY: '127.0.0.1' }), [], 'the proxy terminates TLS');
  const url = 'postgres://ann:secret@';
  for (const address of [
    'db/x',
    'db.example:5432/x',
    '[2001:db8::1]/x',
    'db/x?sslmode=prefer',
    'db/x?sslmode=',
    'db/x?ssl=',
    'db/x?sslrootcert=/etc/ca.pem',
    '127.0.0.1,db/x',
  ])
    t.strictSame(warned(database(url + address)), ['DATABASE_URL'], address);
  for (const address of [
    ...['localhost/x', '127.0.0.1:5432/x', '[::1]/x', '%2Fvar%2Frun/x', '127.0.0.1:1,localhost:2,[::1]:3/x'],
    ...['disable', 'require', 'verify-full'].map((mode) => `db,other/x?sslmode=${mode}`),
  ])
    t.strictSame(warned(database(url + address)), [], address);
});

t.test('DATABASE_URL accepts every form of address that reaches a database', async (t) => {
  for (const DATABASE_URL of [
    'postgres://ann:secret@host:5432/name?sslmode=require',
    'postgresql://host',
    'postgres:///name',
    'postgres://[::1]:5432/name',
    'postgres://ann:secret@one:5432,two:5433/name',
    'postgres://ann:secret,@host/name',
    'postgres://talkgroup:secret@%2Ftmp%2Ftalkgroup-radio-0%2F%2C/talkgroup',
  ]) {
    t.equal(readConfig({ DATABASE_URL, JWT_SECRET: KEY }).DATABASE_URL, DATABASE_URL);
  }
});

t.test('ADMIN_USERNAME is normalised like the username of a login', async (t) => {
  t.equal(readConfig({ ADMIN_USERNAME: 'Zoe\u0308' }).ADMIN_USERNAME, 'Zo\u00eb');
});

t.test('ADMIN_PASSWORD may have the minimum length, counted in characters', async (t) => {
  t.ok(readConfig({ ADMIN_PASSWORD: '📻🚒🚓🚑', PASSWORD_MIN_LENGTH: '4' }).ADMIN_PASSWORD);
});

const FILES = 1000;

t.test('sockets and REST connections share the limit of open files', async (t) => {
  const shares = (environment: Record<string, string>, files = FILES) => {
    const { SOCKETS_MAX, REST_CONNECTIONS } = readConfig(environment, files);
    return [SOCKETS_MAX, REST_CONNECTIONS];
  };
  t.same(shares({}), [600, 200]);
  t.same(shares({}, 1_048_576), [1_000_000, 10_000]);
  t.same(shares({}, Number.POSITIVE_INFINITY), [1_000_000, 10_000]);
  t.same(shares({ SOCKETS_MAX: '10' }), [10, 200]);
  t.same(shares({ REST_CONNECTIONS: '10' }), [790, 10]);
  t.same(shares({ SOCKETS_MAX: '790', REST_CONNECTIONS: '10' }), [790, 10]);
});

t.test('settings above the limit of open files are rejected with the numbers', async (t) => {
  for (const [environment, files, numbers] of [
    [{ SOCKETS_MAX: '601' }, FILES, ['601', '1001', '1000']],
    [{ REST_CONNECTIONS: '800' }, FILES, ['800', '1001', '1000']],
    [{ SOCKETS_MAX: '790', REST_CONNECTIONS: '11' }, FILES, ['790', '11', '1001', '1000']],
    [{}, 201, ['202', '201']],
  ] as const) {
    try {
      checkOpenFiles(readConfig(environment, files), files);
      t.fail('not refused');
    } catch (error) {
      const { message } = error as Error;
      t.ok(error instanceof ConfigError);
      t.match(message, /^SOCKETS_MAX: .*ulimit -n/);
      for (const number of numbers) t.match(message, new RegExp(`\\b${number}\\b`));
    }
  }
  checkOpenFiles(readConfig({ SOCKETS_MAX: '600' }, FILES), FILES);
});

t.test('lists are split and trimmed, and empty items are dropped', async (t) => {
  const origins = ['https://a.example', 'http://b.example:8080', 'capacitor://localhost'];
  t.same(readConfig({ CORS_ORIGINS: origins.join(', ,') }).CORS_ORIGINS, origins);
});

t.test('the origins of the map are those that are listed, otherwise that of the style', async (t) => {
  const MAP_STYLE_URL = 'https://tiles.example:8443/maps/{z}/style.json?key=a%20b';
  t.same(readConfig({}).MAP_ORIGINS, []);
  t.same(readConfig({ MAP_STYLE_URL }).MAP_ORIGINS, ['https://tiles.example:8443']);
  const MAP_ORIGINS = 'https://a.example, https://b.example:444';
  t.same(readConfig({ MAP_STYLE_URL, MAP_ORIGINS }).MAP_ORIGINS, [
    'https://a.example',
    'https://b.example:444',
  ]);
  t.equal(readConfig({ MAP_STYLE_URL }).MAP_STYLE_URL, MAP_STYLE_URL);
});

t.test('PUBLIC_WS_URL may have a port and a path, with TLS or without', async (t) => {
  for (const PUBLIC_WS_URL of [
    'wss://radio.example',
    'wss://radio.example/',
    'wss://radio.example/ws',
    'wss://radio.example:8443/relay/ws',
    'ws://127.0.0.1:3001',
    'ws://localhost:3001',
  ])
    t.equal(readConfig({ PUBLIC_WS_URL }).PUBLIC_WS_URL, PUBLIC_WS_URL);
});

t.test(
  'a proxy is an IPv4 or IPv6 address or range, and without proxies X-Forwarded-For is ignored',
  async (t) => {
    const { TRUST_PROXY } = readConfig({ TRUST_PROXY: '10.0.0.0/8, 192.0.2.1,2001:db8::/32,::1' });
    t.same(TRUST_PROXY, ['10.0.0.0/8', '192.0.2.1', '2001:db8::/32', '::1']);
    t.same(readConfig({}).TRUST_PROXY, []);
  },
);

t.test('NATS servers are named by URLs, with TLS unless they are on this machine', async (t) => {
  const cluster = { DATABASE_URL: 'postgres://db/radio', JWT_SECRET: KEY };
  const servers = [
    'nats://127.0.0.1:4222',
    'nats://localhost,nats://[::1]:4223/',
    'tls://u:p%40@a.example, tls://b',
    'tls://u:p@a.example,tls://u:p@b',
    'tls://token@a',
  ];
  for (const NATS_URL of servers) t.equal(readConfig({ ...cluster, NATS_URL }).NATS_URL, NATS_URL);
  const wrong = [
    ...['nats://nats.example', 'nats://10.0.0.1', 'http://127.0.0.1', '127.0.0.1:4222', ' , ', 'nats://'],
    ...['tls://a,nats://127.0.0.1', 'tls://a/path', 'tls://a?x', 'tls://sec%ret:word@a', 'tls://a,sec ret'],
    ...[
      'nats://:sec@127.0.0.1',
      'tls://u:p@a,tls://:sec@b',
      'tls://a,tls://u:sec@b',
      'tls://u:p@a,tls://u:sec@b',
    ],
  ];
  for (const NATS_URL of wrong) {
    const error = t.throws(() => readConfig({ ...cluster, NATS_URL }), /^NATS_URL must be a comma-separated/);
    t.notMatch(String(error), /sec|got/, 'the value is not repeated');
  }
  const NATS_URL = 'tls://nats.example';
  t.throws(() => readConfig({ NATS_URL }), /^DATABASE_URL must be set when NATS_URL is set/);
  t.throws(
    () => readConfig({ ...cluster, NATS_URL, NATS_CREDENTIALS_FILE: '/no/such/file' }),
    /^NATS_CREDENTIALS_FILE must be .*, got "\/no\/such\/file"$/,
  );
  t.throws(
    () => readConfig({ ...cluster, NATS_CREDENTIALS_FILE: 'package.json' }),
    /^NATS_URL must be set when NATS_CREDENTIALS_FILE is set$/,
  );
  for (const NATS_PREFIX of ['a.b', '>', 'x'.repeat(33)])
    t.throws(() => readConfig({ NATS_PREFIX }), /^NATS_PREFIX must be 1 to 32 letters/);
});

t.test(
  'every setting has a description, a group, a level and a unit, and a limit has the effect of exceeding it',
  async (t) => {
    const ports = ['PORT', 'WS_PORT', 'METRICS_PORT'];
    const limitless = [...ports, 'LAG_PING_MS', 'LOAD_WINDOW_MS', 'LOAD_PERCENT', 'RELAY_THREADS'];
    for (const [name, setting] of Object.entries(settings)) {
      const { description, group, level, unit, beyond = '', notes = '', unset = '' } = setting;
      t.match(description, /^[^.]+\.$/, `${name}: one sentence`);
      t.ok(group in groups, `${name}: ${group}`);
      t.ok(levels.includes(level), `${name}: ${level}`);
      t.match(unit, /\w/, `${name}: ${unit}`);
      for (const text of [beyond, notes, unset]) t.match(text, /^$|\.$/, `${name}: ${text}`);
      t.equal(setting.type === 'integer' && beyond === '', limitless.includes(name), `${name}: ${beyond}`);
      t.equal(
        setting.default === undefined,
        unset !== '',
        `${name} has a default, or says what its absence means`,
      );
      t.ok(setting.enum ?? setting.must ?? setting.maximum, `${name} says what it takes`);
    }
  },
);

const page = readFileSync('docs/configuration.md', 'utf8');

t.test(
  'the page lists every setting with its default, and the basic ones in the table as well',
  async (t) => {
    const table = page.slice(page.indexOf('## Basic settings'), page.indexOf('## Other variables'));
    const reference = page.slice(page.indexOf('## Reference'));
    const rows = new Map(
      [...table.matchAll(/^\| `(\w+)` \|(.*?)\|/gm)].map(([, name, preset]) => [name, preset]),
    );
    for (const [name, { default: preset, level }] of Object.entries(settings)) {
      const [, entry = ''] = new RegExp(`^#### \`${name}\`$([^#]+)`, 'm').exec(reference) ?? [];
      t.ok(
        entry.includes(preset === undefined ? 'no default' : `default \`${preset}\``),
        `${name} is ${preset}`,
      );
      const inTable = level === 'basic' ? (preset === undefined ? '' : `\`${preset}\``) : undefined;
      t.equal(rows.get(name)?.trim(), inTable, `${name} is ${level}`);
      rows.delete(name);
    }
    t.same([...rows.keys()], [], 'the table lists nothing else');
  },
);

t.test('the .env file shows every setting, commented out, with its default', async (t) => {
  const lines = settingsAsEnvFile().split('\n');
  for (const line of lines) t.match(line, /^(#.*)?$/);
  const shown = lines.filter((line) => /^#[A-Z]/.test(line));
  const environment = Object.fromEntries(shown.map((line) => line.slice(1).split(/=(.*)/s).slice(0, 2)));
  t.same(Object.keys(environment).sort(), Object.keys(settings).sort());
  t.same(readConfig(environment), readConfig({}), 'uncommented it changes nothing');
});

t.test('the JSON Schema has a property for every setting, with its range', async (t) => {
  const { properties } = JSON.parse(settingsAsJsonSchema());
  t.same(Object.keys(properties).sort(), Object.keys(settings).sort());
  t.match(properties.TALK_SILENCE_MS, { type: 'integer', minimum: 200, maximum: 60_000, default: 2000 });
});

/** Everything that a reader may copy a key from: all pages, and all other files of docs/. */
function documents(): string[] {
  const inDocs = readdirSync('docs', { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.md'))
    .map(({ parentPath, name }) => `${parentPath}/${name}`);
  return [...markdownFiles(), 'Makefile', 'Dockerfile', ...inDocs];
}
