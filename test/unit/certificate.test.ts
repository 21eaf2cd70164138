// Certificates of the service: the pair in the files, and the server names of renewals.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { Renewal } from '../../src/relay/websocket/renewals.js';
import { serverNames } from '../../src/relay/websocket/server-names.js';
import { certificateFiles, readCertificate } from '../../src/tls/certificate.js';
import { createCertificateRenewal } from '../../src/tls/renewal.js';
import { issue, type Pair } from '../helpers/network/certificates.js';

/** As the engine looks a name up: label by label, spelled out before `*`. */
function found(patterns: ReadonlyMap<string, number>, name: string): number | undefined {
  const search = (labels: readonly string[], chosen: readonly string[]): number | undefined => {
    const [label, ...rest] = labels;
    if (label === undefined) return patterns.get(chosen.join('.'));
    return search(rest, [...chosen, label]) ?? search(rest, [...chosen, '*']);
  };
  return search(name.split('.'), []);
}

t.test('every renewal is found before the earlier ones, whatever names the certificate has', async (t) => {
  const certificates = [
    ['localhost'],
    ['radio.example.test'],
    ['*.example.test', 'radio.example.test', 'example.test'],
    ['a.b.c.d', 'x.b.c.d', '*.b.c.d', 'y.z'],
  ];
  const counts = certificates.map((names) => {
    const patterns = new Map<string, number>();
    for (let renewal = 0; ; renewal++) {
      const added = serverNames(names, renewal);
      if (added === null) return renewal;
      for (const pattern of added) {
        t.notOk(patterns.has(pattern), `${pattern} is new`);
        patterns.set(pattern, renewal);
      }
      for (const name of names)
        t.equal(found(patterns, name.replace('*', 'any')), renewal, `${name} ${renewal}`);
    }
  });
  t.same(counts, [2, 8, 4, 4]);
  t.same(serverNames(['radio.example.test'], 5), ['radio.*.test']);
  t.equal(serverNames([], 0), null, 'no name, no renewal');
  t.equal(serverNames(['a.b.c.d.e.f.g.h.i.j.k'], 0), null, 'the engine reads 10 labels');
});

t.test('a chain that is cut off behind its first certificate is not used', async (t) => {
  const { cert, key } = issue({ names: ['radio.example.test'], addresses: [], expiresInS: 3600 });
  const folder = t.testdir({ 'key.pem': key });
  const files = { certFile: join(folder, 'cert.pem'), keyFile: join(folder, 'key.pem') };
  const leaf = cert.trimEnd();
  const chain = `${leaf}\n${leaf}\n`;
  const kindOf = async (length: number) => {
    writeFileSync(files.certFile, chain.slice(0, length));
    return (await readCertificate(files)).kind;
  };
  t.equal(await kindOf(chain.length), 'pair');
  t.equal(await kindOf(leaf.length), 'pair', 'nothing shows that more was to follow');
  for (const more of [-1, 2, 10, 26, 27, 28, 100])
    t.equal(await kindOf(leaf.length + more), 'unusable', `${more}`);
});

t.test('a pair is read with its names, its dates and a digest of both contents', async (t) => {
  const folder = t.testdir({});
  const files = { certFile: join(folder, 'cert.pem'), keyFile: join(folder, 'key.pem') };
  t.same(certificateFiles({ TLS_CERT_FILE: files.certFile, TLS_KEY_FILE: files.keyFile }), files);
  t.equal(certificateFiles({}), null);
  const read = async ({ cert, key }: Pair) => {
    writeFileSync(files.certFile, cert);
    writeFileSync(files.keyFile, key);
    const reading = await readCertificate(files);
    if (reading.kind !== 'pair') throw new Error(reading.reason);
    return reading.pair;
  };

  const named = issue({ names: ['Radio.Example.test', '*.fleet.test'], addresses: [], expiresInS: 3600 });
  const pair = await read(named);
  t.same(pair.names, ['radio.example.test', '*.fleet.test']);
  t.notOk(pair.isForAddress);
  t.ok(Math.abs(pair.expiresAtMs - Date.now() - 3_600_000) < 60_000);
  t.equal((await read(named)).digest, pair.digest);

  const chained = await read({ ...named, cert: named.cert + issue().cert });
  t.not(chained.digest, pair.digest, 'a longer chain is another content');
  t.same(chained.names, pair.names, 'the names are those of the first');
  const other = await read(issue({ names: [], addresses: ['192.0.2.1'] }));
  t.same([other.names, other.isForAddress], [[], true], 'the common name does not count beside an address');
});

t.test('the relay decides first, and a pair that it does not take is logged once', async (t) => {
  const folder = t.testdir({});
  const files = { certFile: join(folder, 'cert.pem'), keyFile: join(folder, 'key.pem') };
  const put = ({ cert, key }: Pair) => {
    writeFileSync(files.certFile, cert);
    writeFileSync(files.keyFile, key);
  };
  put(issue());
  const first = await readCertificate(files);
  if (first.kind !== 'pair') throw new Error(first.reason);
  let says: Renewal = 'presented';
  const asked: string[] = [];
  const onRest: string[] = [];
  const logged: string[] = [];
  const log = { info() {}, warn: (_fields: object, message: string) => void logged.push(message) };
  const renewal = createCertificateRenewal({
    files,
    first: first.pair,
    rest: { present: ({ digest }) => void onRest.push(digest) },
    relay: {
      async present({ digest }) {
        asked.push(digest);
        return says;
      },
    },
    log,
  });

  says = 'rejected';
  put(issue());
  for (const _again of [1, 2]) t.notOk((await renewal.look()).isPresented);
  t.same([asked.length, onRest.length, logged.length], [2, 0, 1], 'rejected: REST keeps its own as well');

  says = 'changed';
  put(issue());
  for (const _again of [1, 2]) t.notOk((await renewal.look()).isPresented);
  t.same([asked.length, onRest.length, logged.length], [4, 0, 2], 'changed: it is asked again');

  says = 'no name left';
  for (const _again of [1, 2]) t.notOk((await renewal.look()).isPresented);
  t.same([asked.length, onRest.length, logged.length], [6, 1, 3], 'no name left: REST renews');

  says = 'presented';
  put(issue());
  const looks = await Promise.all([renewal.look(), renewal.look()]);
  t.ok(looks.every(({ isPresented }) => isPresented));
  t.same([asked.length, onRest.length], [7, 2], 'two looks at once are one after the other');
  renewal.close();
});

t.test('the start warns of a certificate that clients reject, and of no other', async (t) => {
  const folder = t.testdir({});
  const files = { certFile: join(folder, 'cert.pem'), keyFile: join(folder, 'key.pem') };
  const warnings = async ({ cert, key }: Pair) => {
    writeFileSync(files.certFile, cert);
    writeFileSync(files.keyFile, key);
    const first = await readCertificate(files);
    if (first.kind !== 'pair') throw new Error(first.reason);
    const logged: object[] = [];
    const renewal = createCertificateRenewal({
      files,
      first: first.pair,
      rest: { present: () => {} },
      relay: { present: async () => 'presented' },
      log: { info() {}, warn: (fields, message) => void logged.push({ ...fields, message }) },
    });
    renewal.start();
    t.match(await renewal.look(), { isPresented: true, text: /^certificate unchanged/ });
    renewal.close();
    return logged;
  };

  const message = 'certificate not valid, clients reject it';
  const { certFile, keyFile } = files;
  t.match(await warnings(issue({ expiresInS: -60 })), [
    { certFile, keyFile, message, reason: /^the certificate in TLS_CERT_FILE expired 20/ },
  ]);
  t.match(await warnings(issue({ validFromS: 3600 })), [
    { message, reason: /^the certificate in TLS_CERT_FILE is not valid before 20/ },
  ]);
  t.strictSame(await warnings(issue()), []);
});
