// The limits of the REST API over the wire: who is refused beyond each of them, how, and who is not.
import { connect } from 'node:net';
import t from 'tap';
import { createPasswords } from '../../src/auth/passwords.js';
import { exchange } from '../helpers/http/raw.js';
import { type Caller, PASSWORD, PASSWORD_HASH, type Service, service, until } from '../helpers/http/rest.js';

t.setTimeout(300_000);

/** bcrypt without its 50 ms. `hashed` counts what it was asked. */
function instantBcrypt() {
  let hashed = 0;
  const bcrypt = {
    async hash() {
      hashed++;
      return PASSWORD_HASH;
    },
    async verify(password: string | Uint8Array) {
      hashed++;
      return password === PASSWORD;
    },
  };
  return { passwords: createPasswords({ bcrypt }), hashed: () => hashed };
}

const tooManyWrong = { status: 429, body: { error: 'too many wrong passwords' } };
const wrong = { status: 401, body: { error: 'invalid credentials' } };

/** Callers of a service who say where they come from, as a proxy does for its clients. */
function callersOf(s: Service) {
  const post = (path: string, body: object, address: string) =>
    s.nobody.send('POST', path, {
      headers: { 'content-type': 'application/json', 'x-forwarded-for': address },
      body: JSON.stringify(body),
    });
  return {
    login: (username: string, password: string, address: string) =>
      post('/auth/login', { username, password }, address),
    register: (username: string, address: string) =>
      post('/auth/register', { username, password: PASSWORD }, address),
  };
}

/** One service for what limits by name and address. Each test has names and addresses of its own. */
t.test('behind a proxy that is trusted', async (t) => {
  const { passwords, hashed } = instantBcrypt();
  const settings = {
    TRUST_PROXY: '127.0.0.0/8',
    LOGIN_FAILURES_PAIR: '3/2',
    LOGIN_FAILURES_NAME: '5/1',
    LOGIN_FAILURES_ADDRESS: '8/1',
    REGISTRATIONS_PER_MINUTE: '3',
  };
  const s = await service(t, { passwords, settings });
  const { login, register } = callersOf(s);
  let places = 0;
  const somewhere = () => `198.51.100.${++places}`;

  t.test('a right password, a wrong one and an unknown name get one answer, unhashed', async (t) => {
    const { username } = await s.account();
    const here = somewhere();
    for (const name of [username, 'nobody knows him']) {
      for (let attempt = 0; attempt < 3; attempt++) t.match(await login(name, 'wrong', here), wrong);
    }
    const before = hashed();
    const answers = [
      await login(username, PASSWORD, here),
      await login(username, 'wrong', here),
      await login('nobody knows him', 'wrong', here),
    ];
    for (const answer of answers) {
      t.match(answer, tooManyWrong);
      t.strictSame(answer.body, tooManyWrong.body);
      const retryAfterS = Number(answer.headers.get('retry-after'));
      t.ok(retryAfterS > 1 && retryAfterS <= 30, `comes again in ${retryAfterS} s`);
    }
    t.equal(hashed(), before);
    t.equal((await login(username, PASSWORD, somewhere())).status, 200, 'from another address');
    t.equal((await login(s.radio.username, PASSWORD, here)).status, 200, 'another name');
    t.equal(s.server.counts.refused.too_many_wrong_passwords, 3);
  });

  t.test('guesses sent together gain nothing', async (t) => {
    const { username } = await s.account();
    const here = somewhere();
    const answers = await Promise.all(Array.from({ length: 20 }, () => login(username, 'wrong', here)));
    t.equal(answers.filter(({ status }) => status === 401).length, 3);
    t.equal(answers.filter(({ status }) => status === 429).length, 17);
  });

  t.test('right passwords sent together all open, however low the limit', async (t) => {
    const { username } = await s.account();
    const here = somewhere();
    const answers = await Promise.all(Array.from({ length: 20 }, () => login(username, PASSWORD, here)));
    for (const { status } of answers) t.equal(status, 200);
  });

  t.test('no one locks an owner out of an address of a login, by the name or by the address', async (t) => {
    const [{ username }, other] = [await s.account(), await s.account()];
    const home = somewhere();
    t.equal((await login(username, PASSWORD, home)).status, 200);
    for (let attempt = 0; attempt < 5; attempt++) {
      t.match(await login(username, 'wrong', somewhere()), wrong);
    }
    t.match(await login(username, PASSWORD, somewhere()), tooManyWrong, 'a stranger’s address');
    t.equal((await login(username, PASSWORD, home)).status, 200);

    for (let name = 0; name < 8; name++) t.match(await login(`guess ${name}`, 'wrong', home), wrong);
    t.match(await login('guess 9', 'wrong', home), tooManyWrong);
    t.match(await login(other.username, PASSWORD, home), tooManyWrong, 'who has never been there');
    t.equal((await login(username, PASSWORD, home)).status, 200);
    t.equal((await login(other.username, PASSWORD, somewhere())).status, 200);
  });

  t.test('a user who registered at an address is at home there', async (t) => {
    const home = somewhere();
    t.equal((await register('ann', home)).status, 200);
    for (let attempt = 0; attempt < 5; attempt++) t.match(await login('ann', 'wrong', somewhere()), wrong);
    t.match(await login('ann', PASSWORD, somewhere()), tooManyWrong);
    t.equal((await login('ann', PASSWORD, home)).status, 200);
  });

  t.test('wrong old passwords are limited for each user, and neither logins nor others suffer', async (t) => {
    const [user, other] = [await s.account(), await s.account()];
    const change = (who: Caller, oldPassword: string) =>
      who.post('/auth/changepassword', { oldPassword, newPassword: PASSWORD });
    t.equal((await change(user, PASSWORD)).status, 200);
    for (let attempt = 0; attempt < 3; attempt++) t.match(await change(user, 'wrong'), wrong);
    const refused = await change(user, PASSWORD);
    t.match(refused, tooManyWrong);
    t.ok(Number(refused.headers.get('retry-after')) > 1);
    t.equal((await change(other, PASSWORD)).status, 200);
    t.equal((await login(user.username, PASSWORD, somewhere())).status, 200);
  });

  t.test('registrations are limited by address, taken names included, before they are hashed', async (t) => {
    const here = somewhere();
    const statuses: number[] = [];
    for (const name of ['bert', 'bert', 'bob']) statuses.push((await register(name, here)).status);
    t.strictSame(statuses, [200, 409, 200]);
    const before = hashed();
    const refused = await register('eve', here);
    t.match(refused, { status: 429, body: { error: 'too many registrations' } });
    t.match(refused.headers.get('retry-after'), /^([1-9]|1\d|20)$/);
    t.equal(hashed(), before);
    t.equal((await register('eve', somewhere())).status, 200);
    t.equal(s.server.counts.refused.too_many_registrations, 1);
  });

  t.test('an IPv6 address counts by its first 64 bits', async (t) => {
    const statusAt = async (address: string) => (await register(`of ${address}`, address)).status;
    for (const host of ['1', '2', '3:4']) t.equal(await statusAt(`2001:db8::${host}`), 200);
    t.equal(await statusAt('2001:db8::ffff:5'), 429);
    t.equal(await statusAt('2001:db8:0:1::1'), 200);
  });

  t.test(
    'of several addresses counts the one that the proxy has seen, not what its client claims',
    async (t) => {
      const here = somewhere();
      const claim = async (name: string) => (await register(name, `${somewhere()}, ${here}`)).status;
      const statuses: number[] = [];
      for (const name of ['first', 'second', 'third', 'fourth']) statuses.push(await claim(name));
      t.strictSame(statuses, [200, 200, 200, 429]);
    },
  );
});

t.test('X-Forwarded-For from an untrusted peer is ignored: limits use the address of the peer', async (t) => {
  for (const TRUST_PROXY of ['', '10.0.0.0/8,2001:db8::/32']) {
    const { passwords } = instantBcrypt();
    const settings = { REGISTRATIONS_PER_MINUTE: '2', TRUST_PROXY };
    const { register } = callersOf(await service(t, { passwords, settings }));
    const statuses: number[] = [];
    for (const address of ['198.51.100.1', '198.51.100.2', '198.51.100.3']) {
      statuses.push((await register(`of ${address}`, address)).status);
    }
    t.strictSame(statuses, [200, 200, 429], TRUST_PROXY);
  }
});

const HOST = 'host: radio.example\r\n';
const loginBytes = (more: string, body: string) =>
  `POST /auth/login HTTP/1.1\r\n${HOST}content-type: application/json\r\ncontent-length: ${body.length}\r\n${more}\r\n${body}`;

t.test('while one has the only place in the login queue', async (t) => {
  const { bcrypt, free } = heldBcrypt();
  const passwords = createPasswords({ bcrypt, waitingMax: 1 });
  const s = await service(t, { passwords, settings: { CORS_ORIGINS: 'https://console.example' } });
  const credentials = { username: 'admin', password: PASSWORD };
  const first = s.nobody.post('/auth/login', credentials);
  await until(() => passwords.isFull());

  t.test('others are answered before their body is read, as the routes would answer', async (t) => {
    const byRoute = await s.radio.post('/auth/changepassword', { oldPassword: 'x', newPassword: 'x' });
    t.equal(byRoute.status, 503);
    const origin = 'origin: https://console.example\r\n';
    const head = loginBytes(origin, 'x'.repeat(100)).slice(0, -100);
    const { answers } = await exchange(s.port, [head], 1);
    t.match(answers[0], {
      status: 503,
      body: JSON.stringify(byRoute.body),
      headers: {
        'content-type': byRoute.headers.get('content-type'),
        'retry-after': byRoute.headers.get('retry-after'),
        'cache-control': byRoute.headers.get('cache-control'),
        'access-control-allow-origin': 'https://console.example',
        'access-control-expose-headers': 'Error-Code,Retry-After',
        'error-code': 'login_queue_full',
        vary: 'Origin',
      },
    });
    const foreign = await exchange(s.port, [loginBytes('origin: https://evil.example\r\n', '{}')], 1);
    t.equal(foreign.answers[0]?.headers['access-control-allow-origin'], undefined);
    t.equal(s.server.counts.refused.login_queue_full, 3);
  });

  t.test('they may go on over the same connection, until the server drains', async (t) => {
    const whole = loginBytes('', JSON.stringify(credentials));
    const health = `GET /healthz HTTP/1.1\r\n${HOST}\r\n`;
    const { answers } = await exchange(s.port, [whole + whole + health], 3);
    const statuses = answers.map(({ status }) => status);
    t.strictSame(statuses, [503, 503, 200]);
    s.server.drain();
    const drained = await exchange(s.port, [whole], 1);
    t.equal(drained.answers[0]?.headers.connection, 'close');
  });

  t.test('and when it is free, it is free', async (t) => {
    free();
    t.equal((await first).status, 200);
    t.equal((await s.nobody.post('/auth/login', credentials)).status, 200);
  });
});

/** bcrypt that works until it is told to be done, hashes of registrations included, and finds every password right. */
function heldBcrypt() {
  let working = 0;
  let free = () => {};
  const held = new Promise<void>((resolve) => {
    free = resolve;
  });
  async function work<T>(result: T): Promise<T> {
    working++;
    await held;
    return result;
  }
  const bcrypt = { hash: () => work(PASSWORD_HASH), verify: () => work(true) };
  return { bcrypt, free, working: () => working };
}

t.test(
  'LOGIN_QUEUE=5 admits five of nine logins from as many addresses and hashes one at a time',
  async (t) => {
    const { bcrypt, free, working } = heldBcrypt();
    const passwords = createPasswords({ bcrypt, waitingMax: 5 });
    const s = await service(t, { passwords, settings: { TRUST_PROXY: '127.0.0.0/8' } });
    const { login } = callersOf(s);
    const asked = Array.from({ length: 9 }, (_, index) => login('admin', PASSWORD, `192.0.2.${index}`));
    await until(() => s.server.counts.refused.login_queue_full === 4 && working() > 0);
    t.equal(working(), 1);
    free();
    const statuses = (await Promise.all(asked)).map(({ status }) => status);
    t.equal(statuses.filter((status) => status === 200).length, 5);
  },
);

t.test('logins and registrations from two addresses leave room for a login from a third', async (t) => {
  const { bcrypt, free } = heldBcrypt();
  const passwords = createPasswords({ bcrypt, waitingMax: 8 });
  const s = await service(t, { passwords, settings: { TRUST_PROXY: '127.0.0.0/8' } });
  const { login, register } = callersOf(s);
  // Opens both connections that look accounts up: an attempt whose lookup takes too long gives its place back.
  const taken = await Promise.all([0, 1].map(() => register(s.radio.username, '192.0.2.4')));
  for (const { status } of taken) t.equal(status, 409);
  const others = ['192.0.2.1', '192.0.2.2'].flatMap((address) =>
    Array.from({ length: 9 }, (_, index) =>
      index % 2 === 0 ? login('admin', PASSWORD, address) : register(`${index} at ${address}`, address),
    ),
  );
  // Four and two places, with whichever came first. The rest are refused.
  await until(() => s.server.counts.refused.login_queue_full === 12);
  const other = login('admin', PASSWORD, '192.0.2.3');
  await until(() => passwords.figures().jobs === 7);
  free();
  t.equal((await other).status, 200);
  t.equal((await Promise.all(others)).filter(({ status }) => status === 503).length, 12);
});

t.test('an address beyond its share is answered before its body is read, another one is not', async (t) => {
  const { bcrypt, free } = heldBcrypt();
  const passwords = createPasswords({ bcrypt, waitingMax: 2 });
  const s = await service(t, { passwords, settings: { TRUST_PROXY: '127.0.2.0/24' } });
  const credentials = { username: 'admin', password: PASSWORD };
  const first = s.nobody.post('/auth/login', credentials);
  await until(() => passwords.figures().jobs === 1);
  const head = loginBytes('', 'x'.repeat(100)).slice(0, -100);
  t.equal((await exchange(s.port, [head], 1)).answers[0]?.status, 503);
  const socket = connect({ port: s.port, host: '127.0.0.1', localAddress: '127.0.3.1' });
  socket.write(loginBytes('', JSON.stringify(credentials)));
  await until(() => passwords.figures().jobs === 2);
  free();
  t.equal((await first).status, 200);
  socket.destroy();
});

t.test('a login that waits more than 3 s to be hashed is refused, and a later one is served', async (t) => {
  const { bcrypt, free, working } = heldBcrypt();
  const passwords = createPasswords({ bcrypt, waitingMax: 10 });
  const s = await service(t, { passwords });
  const logIn = () => s.nobody.post('/auth/login', { username: 'admin', password: PASSWORD });
  const first = logIn();
  await until(() => working() === 1);
  const late = [logIn(), logIn()];
  await until(() => passwords.figures().jobs === 3);
  const startedAt = performance.now();
  await until(() => performance.now() - startedAt > 3000);
  const fresh = logIn();
  free();
  t.equal((await first).status, 200);
  for (const { status, headers } of await Promise.all(late)) {
    t.equal(status, 503);
    t.equal(headers.get('retry-after'), '1');
  }
  t.equal((await fresh).status, 200);
});

t.test(
  'bodies, targets, headers and slow requests are bounded as configured, and what is refused is counted',
  async (t) => {
    const settings = {
      BODY_BYTES: '8192',
      URL_BYTES: '1024',
      HEADER_BYTES: '4096',
      HEADERS_TIMEOUT_S: '1',
      REQUEST_TIMEOUT_S: '1',
    };
    const s = await service(t, { settings });
    const get = (path: string, more = '') => `GET ${path} HTTP/1.1\r\n${HOST}${more}\r\n`;
    const cases: [request: string, status: number][] = [
      [loginBytes('', ' '.repeat(8193)), 413],
      [loginBytes('', ' '.repeat(8192)), 400],
      [get(`/${'x'.repeat(1024)}`), 414],
      [get(`/${'x'.repeat(1023)}`), 404],
      [get('/healthz', `x: ${'x'.repeat(4096)}\r\n`), 431],
      [get('/healthz', `x: ${'x'.repeat(3500)}\r\n`), 200],
      [get('/healthz').slice(0, -2), 408],
      [loginBytes('', '{}').slice(0, -1), 408],
    ];
    await Promise.all(
      cases.map(async ([request, status]) => {
        const { answers } = await exchange(s.port, [request], 1);
        t.equal(answers[0]?.status, status, request.slice(0, 60));
      }),
    );
    const { body_too_large, uri_too_long, headers_too_large, request_timeout } = s.server.counts.refused;
    t.strictSame([body_too_large, uri_too_long, headers_too_large, request_timeout], [1, 1, 1, 2]);
  },
);

t.test(
  'connections beyond REST_CONNECTIONS are closed and counted, and one that goes makes room',
  async (t) => {
    const s = await service(t, { settings: { REST_CONNECTIONS: '2' } });
    const open = () => connect(s.port, '127.0.0.1').on('error', () => {}); // a reset is a close
    const answered = (socket: ReturnType<typeof open>) =>
      new Promise<boolean>((resolve) => {
        socket.once('data', () => resolve(true)).once('close', () => resolve(false));
        socket.write(`GET /healthz HTTP/1.1\r\n${HOST}\r\n`);
      });
    const first = open();
    t.equal(await answered(first), true);
    const second = open();
    t.equal(await answered(second), true);
    t.equal(await answered(open()), false);
    t.equal(s.server.counts.connectionsDropped, 1);
    t.equal(await answered(first), true, 'those who are in stay');
    second.destroy();
    const another = async (): Promise<boolean> => {
      const socket = open();
      const isIn = await answered(socket);
      socket.destroy();
      return isIn || another(); // until the server has seen the second go
    };
    t.equal(await another(), true);
    first.destroy();
  },
);
