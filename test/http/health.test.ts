// Runs `cli health`, the HEALTHCHECK of the image, against servers at several addresses.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';
import t, { type Test } from 'tap';
import { runCommand } from '../helpers/service/service.js';

const [certificate, key] = ['test/helpers/network/tls-cert.pem', 'test/helpers/network/tls-key.pem'];
const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
const hasIPv6 = addresses.some(({ address }) => address === '::1');
const noIPv6 = hasIPv6 ? false : 'this machine has no IPv6';

// 127.0.0.2: an address at which 127.0.0.1 does not answer. macOS has only the first of the network.
const cases = [
  { HOST: '127.0.0.2', skip: process.platform === 'linux' ? false : 'only Linux has 127.0.0.2' },
  { HOST: '0.0.0.0', skip: false },
  { HOST: 'localhost', skip: false },
  { HOST: '::1', skip: noIPv6 },
  { HOST: '::', skip: noIPv6 },
];

for (const { HOST, skip } of cases) {
  t.test(`health finds a service that listens at ${HOST}`, { skip }, async (t) => {
    const { PORT, paths } = await answering(t, { HOST });
    t.match(await runCommand(['health'], { HOST, PORT }), { code: 0, output: '' });
    t.same(paths, ['/healthz']);
  });
}

t.test('health uses TLS when the service does, for any name in the certificate', async (t) => {
  const { PORT } = await answering(t, { HOST: '127.0.0.1', secure: true });
  const tls = { TLS_CERT_FILE: certificate, TLS_KEY_FILE: key };
  t.equal((await runCommand(['health'], { PORT, ...tls })).code, 0);
  t.match(await runCommand(['health'], { PORT }), { code: 1, output: notAlive(PORT) });
});

const notAlive = (port: string) => `the service at 127.0.0.1, port ${port}, did not answer 200 within 2 s\n`;

t.test('health fails when the answer is not 200', async (t) => {
  const { PORT } = await answering(t, { HOST: '127.0.0.1', status: 503 });
  t.match(await runCommand(['health'], { PORT }), { code: 1, output: notAlive(PORT) });
});

t.test('an empty variable counts as unset, and an error names an invalid PORT', async (t) => {
  const { PORT } = await answering(t, { HOST: '127.0.0.1' });
  t.equal((await runCommand(['health'], { HOST: '', TLS_CERT_FILE: '', PORT })).code, 0);
  t.match(await runCommand(['health'], { PORT: '65536' }), {
    code: 1,
    output: /^PORT must be an integer from 0 to 65535/,
  });
});

/** A server that answers every request so, and the paths it was asked for. */
async function answering(t: Test, { HOST = '', secure = false, status = 200 }) {
  const paths: string[] = [];
  const answer: RequestListener = (request, response) => {
    paths.push(request.url ?? '');
    response.writeHead(status).end();
  };
  const server = secure
    ? createTlsServer({ cert: readFileSync(certificate), key: readFileSync(key) }, answer)
    : createServer(answer);
  await once(server.listen(0, HOST), 'listening');
  t.teardown(() => server.close());
  return { PORT: String((server.address() as AddressInfo).port), paths };
}
