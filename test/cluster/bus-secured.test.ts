// What every bus promises, over NATS servers as an operator sets them up: TLS, and a user who may do no more than needed.
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { issueCredentials } from '../helpers/network/nats-credentials.js';
import { startSecureNatsServer } from '../helpers/network/nats-server.js';
import { unless } from '../helpers/programs.js';

const skip = unless('nats-server');
const CONTRACT = fileURLToPath(new URL('../helpers/network/bus-over-tls.js', import.meta.url));

t.test('a bus keeps its promises with the documented configuration of the server', { skip }, async (t) => {
  const { port, authority, user } = await startSecureNatsServer(t);
  const env = { ...process.env, PORT: `${port}`, NATS_USER: `${user}@`, NODE_EXTRA_CA_CERTS: authority };
  await t.spawn(process.execPath, [CONTRACT], { env }, 'user and password');
});

t.test('a bus keeps its promises with a credentials file, a JWT and an nkey', { skip }, async (t) => {
  const { settings, file } = issueCredentials(['tgr.1.>']);
  const { port, authority } = await startSecureNatsServer(t, settings);
  const credentials = join(dirname(authority), 'radio.creds');
  writeFileSync(credentials, file);
  const env = { ...process.env, PORT: `${port}`, CREDENTIALS: credentials, NODE_EXTRA_CA_CERTS: authority };
  await t.spawn(process.execPath, [CONTRACT], { env }, 'credentials file');
});
