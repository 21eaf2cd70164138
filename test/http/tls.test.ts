// TLS: with certificate and key, both listeners speak it and nothing else.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import t from 'tap';
import { readConfig } from '../../src/config/config.js';
import { eventually } from '../helpers/eventually.js';
import { connect, service, serviceProcess } from '../helpers/service/service.js';

const [certificate, key] = ['test/helpers/network/tls-cert.pem', 'test/helpers/network/tls-key.pem'];
const ca = readFileSync(certificate);

t.test('REST and the relay speak TLS', async (t) => {
  const s = await service(t, { TLS_CERT_FILE: certificate, TLS_KEY_FILE: key });
  const ann = await s.person('ann');

  const body = await new Promise<string>((resolve, reject) => {
    const asked = request(`${s.rest.replace('http:', 'https:')}/healthz`, { ca }, (response) => {
      let text = '';
      response
        .setEncoding('utf8')
        .on('data', (part) => {
          text += part;
        })
        .on('end', () => resolve(text));
    });
    asked.on('error', reject).end();
  });
  t.match(JSON.parse(body), { ok: true });

  const radio = await connect(t, `${s.ws.replace('ws:', 'wss:')}/ws?token=${ann.token}`, { ca });
  t.equal(radio.welcome?.username, 'ann');
  await t.rejects(fetch(s.rest), 'REST takes no plain text');
  const plain = await connect(t, `${s.ws}/ws?token=${ann.token}`);
  t.equal(plain.welcome, null, 'neither does the relay');
});

for (const [settings, scheme] of [
  [{}, 'http'],
  [{ TLS_CERT_FILE: certificate, TLS_KEY_FILE: key }, 'https'],
] as const) {
  t.test(`the log names the address of REST with ${scheme}`, async (t) => {
    const s = await serviceProcess(t, { ...settings, LOG_LEVEL: 'info' });
    const line = `"msg":"Server listening at ${scheme}://${new URL(s.rest).host}"`;
    await eventually(() => assert.ok(s.output().includes(line)));
  });
}

for (const other of ['test/helpers/missing.pem', certificate]) {
  t.test(`${other} in place of the key refuses to start`, async (t) => {
    t.throws(
      () => readConfig({ TLS_CERT_FILE: certificate, TLS_KEY_FILE: other }),
      /^TLS_CERT_FILE and TLS_KEY_FILE must /,
    );
  });
}
