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
  ['WS_PORT', { WS_PORT: 'true' }],
  ['LOG_LEVEL', { LOG_LEVEL: 'loud' }],
  ['RELAY_THREADS', { RELAY_THREADS: '2' }],
  ['TALK_SILENCE_MS', { TALK_SILENCE_MS: '1' }],
  ['TLS_KEY_FILE', { TLS_CERT_FILE: 'cert.pem' }],
  ['TLS_CERT_FILE', { TLS_KEY_FILE: 'key.pem' }],
  ['DATABASE_URL', { DATABASE_URL: 'mysql://host/name' }],
  ['JWT_SECRET', { DATABASE_URL: 'postgres://host/name' }],
  ['JWT_SECRET', { JWT_SECRET: '31 bytes are one byte too few..' }],
  ['ADMIN_PASSWORD', { ADMIN_PASSWORD: 'ä'.repeat(37) }],
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
  for (const environment of [{ DATABASE_URL: 'mysql://user:hunter2@host/name' }, { JWT_SECRET: 'hunter2' }]) {
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

t.test('lists are split, trimmed and without empty places', async (t) => {
  const { TRUST_PROXY, CORS_ORIGINS } = readConfig({
    TRUST_PROXY: '10.0.0.0/8, ,::1',
    CORS_ORIGINS: 'https://a.example,http://b.example:8080',
  });
  t.same(TRUST_PROXY, ['10.0.0.0/8', '::1']);
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
