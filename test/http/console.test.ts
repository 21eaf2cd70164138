// The web console as the service hands it out: its files and their policy, its settings, and what is not handed out.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import t, { type Test } from 'tap';
import { exchange } from '../helpers/http/raw.js';
import { type Service, service } from '../helpers/http/rest.js';

t.setTimeout(300_000);

const SCRIPT = 'app-4XKD2QHA.js';
const WORKER = 'radio-worker-7QHA4XKD.js';
const NO_PATH = { status: 404, body: { error: 'no such path' } };

/** As the build writes it: hashed names, and packed files beside the large ones. */
async function built(t: Test): Promise<string> {
  const folder = join(t.testdir(), 'console');
  await mkdir(join(folder, 'sounds'), { recursive: true });
  const files: Record<string, string | Buffer> = {
    'index.html': '<!doctype html><title>Console</title>',
    [SCRIPT]: 'plain',
    [`${SCRIPT}.br`]: brotliCompressSync('brotli'),
    [`${SCRIPT}.gz`]: gzipSync('gzip'),
    [WORKER]: 'worker',
    'codec-4XKD2QHA.wasm': Buffer.of(0, 0x61, 0x73, 0x6d),
    'codec-4XKD2QHA.wasm.br': brotliCompressSync('brotli'),
    'codec-4XKD2QHA.wasm.gz': gzipSync('gzip'),
    'manifest.webmanifest': '{}',
    'icon-192.png': 'icon',
    'sounds/index.html': 'not a page of its own',
    '.hidden': 'hidden',
    '../secret.txt': 'secret',
  };
  for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content);
  return folder;
}

const consoleOf = async (t: Test, settings: Record<string, string> = {}) =>
  service(t, { consoleFolder: await built(t), settings });

const get = (s: Service, path: string, headers: Record<string, string> = {}) =>
  s.nobody.send('GET', path, { headers });

/** A GET with any Host header, and as fetch would not send it. */
async function getAt(s: Service, path: string, host: string, more: readonly string[] = []) {
  const head = [`GET ${path} HTTP/1.1`, `Host: ${host}`, ...more, 'Connection: close', '', ''].join('\r\n');
  const [answer] = (await exchange(s.port, [head])).answers;
  if (answer === undefined) throw new Error('no answer');
  return answer;
}

t.test('every file has the policy, the permissions and no cookie', async (t) => {
  const s = await consoleOf(t, { MAP_STYLE_URL: 'https://tiles.example/style.json?key=k' });
  const policy =
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; style-src 'self'; " +
    "img-src 'self' data: blob: https://tiles.example; " +
    "connect-src 'self' ws://127.0.0.1:3001 https://tiles.example; font-src 'self'; " +
    "media-src 'self' blob:; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
  for (const path of ['', 'index.html', SCRIPT, WORKER, 'codec-4XKD2QHA.wasm']) {
    for (const method of ['GET', 'HEAD']) {
      const { status, headers } = await s.nobody.send(method, `/console/${path}`);
      t.equal(status, 200, `${method} ${path}`);
      t.equal(headers.get('content-security-policy'), policy, path);
      t.equal(headers.get('permissions-policy'), 'microphone=(self), geolocation=(self), camera=()', path);
      t.equal(headers.get('cross-origin-opener-policy'), 'same-origin', path);
      t.equal(headers.get('x-content-type-options'), 'nosniff', path);
      t.equal(headers.get('set-cookie'), null, path);
    }
  }
  const docs = await get(s, '/docs');
  t.match(docs.headers.get('content-security-policy'), "style-src 'self' 'unsafe-inline'", 'that of /docs');
  const rest = await get(s, '/healthz');
  t.equal(rest.headers.get('content-security-policy'), "default-src 'none';frame-ancestors 'none'");
});

t.test(
  'a file has its type, and is kept for ever when its name has a hash and it is no worker',
  async (t) => {
    const s = await consoleOf(t);
    const cases: readonly [path: string, type: RegExp, caching: string][] = [
      ['', /^text\/html; charset=utf-8$/, 'no-cache'],
      ['index.html', /^text\/html; charset=utf-8$/, 'no-cache'],
      [SCRIPT, /^(text|application)\/javascript; charset=utf-8$/, 'public, max-age=31536000, immutable'],
      [WORKER, /^(text|application)\/javascript; charset=utf-8$/, 'no-cache'],
      ['codec-4XKD2QHA.wasm', /^application\/wasm$/, 'public, max-age=31536000, immutable'],
      ['manifest.webmanifest', /^application\/manifest\+json/, 'no-cache'],
      ['icon-192.png', /^image\/png$/, 'no-cache'],
    ];
    for (const [path, type, caching] of cases) {
      const { headers } = await get(s, `/console/${path}`);
      t.match(headers.get('content-type'), type, path);
      t.equal(headers.get('cache-control'), caching, path);
      // fetch would ask for a whole answer with `Cache-Control: no-cache`.
      const condition = [`If-None-Match: ${headers.get('etag')}`, 'Accept-Encoding: gzip, deflate'];
      const again = await getAt(s, `/console/${path}`, 'radio.example', condition);
      t.equal(again.status, 304, `${path} again`);
      t.match(again.headers['content-security-policy'], 'ws://radio.example:3001', 'with its policy of now');
    }
    for (const encoding of ['br', 'gzip']) {
      const packed = await getAt(s, '/console/codec-4XKD2QHA.wasm', 'x', [`Accept-Encoding: ${encoding}`]);
      t.equal(packed.headers['content-encoding'], encoding);
      t.equal(packed.headers['content-type'], 'application/wasm', encoding);
    }
  },
);

t.test('any other file is unknown, however its path is written', async (t) => {
  const s = await consoleOf(t);
  const paths = [
    'nothing.js',
    'sounds',
    'sounds/',
    'sounds/index.html/x',
    '.hidden',
    'x/../.hidden',
    '..%2fsecret.txt',
    '..%2F..%2fpackage.json',
    '%2e%2e%2fsecret.txt',
    '..%5csecret.txt',
    'sounds%2findex.html',
    'INDEX.HTML',
    'index.html/',
    '/index.html',
    '%00',
    'index.html%00',
    'console/index.html',
    '*',
    'x'.repeat(300),
  ];
  for (const path of paths) t.match(await get(s, `/console/${path}`), NO_PATH, path);
  for (const path of [
    '/console/../secret.txt',
    '/console/sounds/../../secret.txt',
    '/console/./index.html',
  ]) {
    const { status, body } = await getAt(s, path, 'x'); // fetch would tidy the path up
    t.strictSame({ status, body: JSON.parse(body) }, NO_PATH, path);
  }
  for (const path of ['/Console/', '/consoles', '/index.html', `/${SCRIPT}`])
    t.match(await get(s, path), NO_PATH);
  t.match(await get(s, '/console/%zz'), { status: 400 });
  t.notMatch(s.logged(), '"level":50', 'and none of it is a bug');
});

t.test(
  'other methods than GET and HEAD get 405 where there is a page, for every caller and body',
  async (t) => {
    const s = await consoleOf(t);
    for (const path of ['/', '/console', '/console/', `/console/${SCRIPT}`, '/console/config.json']) {
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
        const { status, headers } = await s.nobody.send(method, path);
        t.equal(status, 405, `${method} ${path}`);
        t.equal(headers.get('allow'), 'GET, HEAD');
      }
    }
  },
);

t.test('a condition that no file meets and a range are no faults of the service', async (t) => {
  const s = await consoleOf(t);
  t.equal((await get(s, '/console/', { range: 'bytes=5-9' })).status, 200, 'the whole file');
  t.equal((await get(s, '/console/', { 'if-match': '"x"' })).status, 400);
  t.equal((await get(s, '/docs/static/none')).status, 404);
  t.equal((await get(s, '/docs/static/swagger-ui.css', { range: 'bytes=99999999-' })).status, 200);
  t.notMatch(s.logged(), '"level":50');
});

t.test('an app that knows one name of the service finds the rest', async (t) => {
  const path = '/.well-known/talkgroup-radio';
  const s = await consoleOf(t);
  const { status, body } = await getAt(s, path, 'radio.example:3000');
  t.equal(status, 200);
  t.strictSame(Object.keys(JSON.parse(body)).sort(), [
    ...['console_url', 'protocol', 'registration', 'rest_url', 'setup_codes', 'version', 'ws_url'],
  ]);
  t.match(JSON.parse(body), {
    rest_url: 'http://radio.example:3000',
    ws_url: 'ws://radio.example:3001',
    console_url: 'http://radio.example:3000/console/',
    registration: 'open',
    protocol: 1,
  });
  for (const host of ['radio.example/console', 'a b', ''])
    t.match(await getAt(s, path, host), { status: 400 }, host);
  const PUBLIC_WS_URL = 'wss://radio.example/relay';
  const closed = await consoleOf(t, { PUBLIC_WS_URL, CONSOLE: 'off', REGISTRATION: 'closed' });
  t.match(JSON.parse((await getAt(closed, path, 'radio.example')).body), {
    ...{ ws_url: PUBLIC_WS_URL, console_url: null, registration: 'closed' },
  });
});

t.test('the settings are the address of the relay, the style of the map and the version', async (t) => {
  const s = await consoleOf(t);
  const config = {
    ws_url: 'ws://127.0.0.1:3001',
    map_style_url: null,
    map_file: false,
    version: /^\d+\.\d+\.\d+/,
  };
  const { status, body, headers } = await get(s, '/console/config.json');
  t.equal(status, 200);
  t.strictSame(Object.keys(body as object), ['ws_url', 'map_style_url', 'map_file', 'version']);
  t.match(body, config);
  t.equal(headers.get('cache-control'), 'no-store');

  const named = await getAt(s, '/console/config.json', 'radio.example:3000');
  t.match(JSON.parse(named.body), { ws_url: 'ws://radio.example:3001' });

  const PUBLIC_WS_URL = 'wss://radio.example/relay';
  const MAP_STYLE_URL = 'https://tiles.example/style.json?key=k';
  const own = await consoleOf(t, {
    PUBLIC_WS_URL,
    MAP_STYLE_URL,
    MAP_ORIGINS: 'https://a.example,https://b.example',
  });
  t.match((await get(own, '/console/config.json')).body, {
    ws_url: PUBLIC_WS_URL,
    map_style_url: MAP_STYLE_URL,
  });
  const policy = (await get(own, '/console/')).headers.get('content-security-policy');
  t.match(policy, "connect-src 'self' wss://radio.example https://a.example https://b.example;");
  t.match(policy, "img-src 'self' data: blob: https://a.example https://b.example;");
});

t.test('a Host header that is more than a name adds nothing to the policy', async (t) => {
  const s = await consoleOf(t);
  for (const host of ["a; script-src 'unsafe-inline'", 'a b', '*', 'user@a', '']) {
    const page = await getAt(s, '/console/', host);
    t.equal(page.status, 200, host);
    t.match(page.headers['content-security-policy'], "; connect-src 'self'; font-src", host);
    t.equal((await getAt(s, '/console/config.json', host)).status, 400, host);
  }
  const named = await getAt(s, '/console/', 'radio.example:3000');
  t.match(named.headers['content-security-policy'], "; connect-src 'self' ws://radio.example:3001; font-src");
});

t.test('the relay is reached over TLS when a trusted proxy says that the page came over TLS', async (t) => {
  const trusting = await consoleOf(t, { TRUST_PROXY: '127.0.0.1' });
  const others = await consoleOf(t, { TRUST_PROXY: '192.0.2.1' });
  const none = await consoleOf(t);
  const addressAt = async (s: Service, protocol: string) => {
    const { body } = await get(s, '/console/config.json', {
      'x-forwarded-proto': protocol,
      'x-forwarded-host': 'evil.example',
    });
    return (body as { ws_url: string }).ws_url;
  };
  t.equal(await addressAt(trusting, 'https'), 'wss://127.0.0.1:3001');
  t.equal(await addressAt(trusting, 'http'), 'ws://127.0.0.1:3001');
  for (const s of [others, none]) t.equal(await addressAt(s, 'https'), 'ws://127.0.0.1:3001');
});

t.test('with CONSOLE=off nothing of the console is there', async (t) => {
  const s = await consoleOf(t, { CONSOLE: 'off' });
  for (const path of ['/', '/console', '/console/', `/console/${SCRIPT}`, '/console/config.json']) {
    const { status, body } = await getAt(s, path, 'x'); // the reference describes a service with the console
    t.strictSame({ status, body: JSON.parse(body) }, NO_PATH, path);
  }
});

t.test('without a built console the service starts, says so in one line, and answers 404', async (t) => {
  const folder = join(t.testdir(), 'nothing');
  const s = await service(t, { consoleFolder: folder });
  for (const path of ['/console/', '/console/index.html', `/console/${SCRIPT}`])
    t.match(await get(s, path), NO_PATH, path);
  t.equal((await get(s, '/console/config.json')).status, 200);
  const lines = s
    .logged()
    .split('\n')
    .filter((line) => line.includes('console not built'));
  t.equal(lines.length, 1);
  t.match(JSON.parse(lines[0] ?? '{}'), { level: 40, folder });
});
