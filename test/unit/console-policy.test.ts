// The headers of the web console: what its policy names, and what it is not made of. The addresses that clients are told.
import t from 'tap';
import { cachingOf, contentSecurityPolicy } from '../../src/http/console/policy.js';
import { relayAddress, restAddress } from '../../src/http/discovery/addresses.js';

t.test('the policy is exactly this, with the address of the relay and the origins of the map', async (t) => {
  t.equal(
    contentSecurityPolicy({
      relay: 'wss://radio.example/ws',
      mapOrigins: ['https://tiles.example', 'https://fonts.example:8443'],
    }),
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; style-src 'self'; " +
      "img-src 'self' data: blob: https://tiles.example https://fonts.example:8443; " +
      "connect-src 'self' wss://radio.example https://tiles.example https://fonts.example:8443; " +
      "font-src 'self'; media-src 'self' blob:; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  );
  const alone = contentSecurityPolicy({ relay: 'ws://127.0.0.1:3001', mapOrigins: [] });
  t.match(alone, "; img-src 'self' data: blob:; connect-src 'self' ws://127.0.0.1:3001; font-src");
  t.match(contentSecurityPolicy({ relay: null, mapOrigins: [] }), "; connect-src 'self'; font-src");
});

const parts = { publicUrl: undefined, port: 3001, secure: false };

t.test('the relay is at the name of the Host header and its own port', async (t) => {
  const cases: readonly [host: string, address: string][] = [
    ['radio.example', 'ws://radio.example:3001'],
    ['radio.example:3000', 'ws://radio.example:3001'],
    ['Radio-1_b.example:3000', 'ws://Radio-1_b.example:3001'],
    ['localhost:3000', 'ws://localhost:3001'],
    ['192.0.2.7:80', 'ws://192.0.2.7:3001'],
    ['[2001:db8::7]:3000', 'ws://[2001:db8::7]:3001'],
    ['[::1]', 'ws://[::1]:3001'],
  ];
  for (const [host, address] of cases) t.equal(relayAddress({ ...parts, host }), address, host);
  t.equal(relayAddress({ ...parts, host: 'radio.example', secure: true }), 'wss://radio.example:3001');
  t.equal(restAddress({ host: 'radio.example:8443', secure: true }), 'https://radio.example:8443');
});

t.test('a Host header that is more than a name or an address with a port gives no address', async (t) => {
  const hosts = [
    '',
    ':3000',
    'a;b',
    "a; script-src 'unsafe-inline'",
    'a b',
    'a,b',
    "a'",
    'a"',
    '*',
    '*.example',
    'a/b',
    'a\\b',
    'user@a',
    'a?x',
    'a#x',
    'a%20b',
    'a:',
    'a:x',
    'a:3000:3001',
    'a:123456',
    '[::1',
    '[::g]:3000',
    '[:::]:3000',
    '[::1]x',
    '999.999.999.999',
    'ä.example',
    'x'.repeat(254),
    undefined,
  ];
  for (const host of hosts) {
    t.equal(relayAddress({ ...parts, host }), null, String(host));
    t.equal(restAddress({ host, secure: true }), null, String(host));
  }
});

t.test('PUBLIC_WS_URL is the address, whatever the Host header says', async (t) => {
  const publicUrl = 'wss://radio.example/relay';
  for (const host of ['other.example', '*', undefined])
    t.equal(relayAddress({ ...parts, publicUrl, host }), publicUrl);
});

t.test('files with a hash in their name are kept for ever, but for workers', async (t) => {
  for (const name of [
    'app-4XKD2QHA.js',
    'console-ABCDEFGH.css',
    'a-b-12345678.wasm',
    'sound-worklet-4XKD2QHA.js',
  ])
    t.equal(cachingOf(name), 'public, max-age=31536000, immutable', name);
  for (const name of ['index.html', 'app.js', 'app-4xkd2qha.js', 'app-4XKD2Q.js', 'radio-worker-4XKD2QHA.js'])
    t.equal(cachingOf(name), 'no-cache', name);
});
