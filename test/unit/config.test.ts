// Settings: what is refused, with which words, and that the README lists them all.
import { readFileSync } from 'node:fs';
import t from 'tap';
import { ConfigError, Environment, readConfig } from '../../src/config.js';

t.test('an empty environment is a service for this machine alone', async (t) => {
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
  ['RELAY_THREADS', { RELAY_THREADS: '2' }],
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
  ['ADMIN_PASSWORD', { ADMIN_PASSWORD: 'ä'.repeat(37) }],
  ['ADMIN_PASSWORD', { ADMIN_PASSWORD: 'se\0cret' }],
  ['ADMIN_PASSWORD', { ADMIN_PASSWORD: 'äöü', PASSWORD_MIN_LENGTH: '4' }],
  ['ADMIN_USERNAME', { ADMIN_USERNAME: 'x'.repeat(65) }],
  ['ADMIN_USERNAME', { ADMIN_USERNAME: 'ann\t' }],
  ['CORS_ORIGINS', { CORS_ORIGINS: 'radio.example' }],
  ['CORS_ORIGINS', { CORS_ORIGINS: 'https://radio.example/' }],
];

for (const [variable, environment] of refused) {
  t.test(`${JSON.stringify(environment)} is refused, naming ${variable}`, async (t) => {
    t.throws(() => readConfig(environment), {
      name: ConfigError.prototype.name,
      message: new RegExp(`^${variable}: .+`),
    });
  });
}

t.test('a refusal does not repeat a secret', async (t) => {
  for (const environment of [
    { DATABASE_URL: 'mysql://user:hunter2@host/name' },
    { DATABASE_URL: 'postgres://user:hunter2@host:notaport/name' },
    { JWT_SECRET: 'hunter2' },
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

t.test('32 bytes of key are enough, counted as bytes', async (t) => {
  t.ok(readConfig({ JWT_SECRET: 'ä'.repeat(16) }).JWT_SECRET);
});

t.test('every form of address that leads to a database is taken', async (t) => {
  for (const DATABASE_URL of [
    'postgres://ann:secret@host:5432/name?sslmode=require',
    'postgresql://host',
    'postgres:///name',
    'postgres://[::1]:5432/name',
    'postgres://ann:secret@one:5432,two:5433/name',
    'postgres://ann:secret,@host/name',
    'postgres://talkgroup:secret@%2Ftmp%2Ftalkgroup-radio-0%2F%2C/talkgroup',
  ]) {
    t.equal(readConfig({ DATABASE_URL, JWT_SECRET: 'x'.repeat(32) }).DATABASE_URL, DATABASE_URL);
  }
});

t.test('the name of the admin is kept in the form in which a login looks it up', async (t) => {
  t.equal(readConfig({ ADMIN_USERNAME: 'Zoe\u0308' }).ADMIN_USERNAME, 'Zo\u00eb');
});

t.test('a password of the shortest length allowed is long enough, counted as characters', async (t) => {
  t.ok(readConfig({ ADMIN_PASSWORD: '📻'.repeat(4), PASSWORD_MIN_LENGTH: '4' }).ADMIN_PASSWORD);
});

t.test('lists are split, trimmed and without empty places', async (t) => {
  const { CORS_ORIGINS } = readConfig({ CORS_ORIGINS: 'https://a.example, ,http://b.example:8080' });
  t.same(CORS_ORIGINS, ['https://a.example', 'http://b.example:8080']);
});

t.test('the README lists every variable with its default', async (t) => {
  const readme = readFileSync('README.md', 'utf8');
  const table = readme.slice(readme.indexOf('## Configuration'), readme.indexOf('## Limits'));
  for (const [name, { default: preset }] of Object.entries(
    Environment.properties as Record<string, { default?: unknown }>,
  )) {
    const row = table.split('\n').find((line) => line.startsWith('|') && line.includes(`\`${name}\``));
    t.ok(row, `${name} stands in the table`);
    if (preset !== undefined) t.ok(row?.includes(String(preset)), `${name} is ${preset}`);
  }
});
