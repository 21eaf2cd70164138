// The password queue: one at a time, a bounded wait, and the same work whatever is asked.
import { hash as bcryptHash } from '@node-rs/bcrypt';
import fc from 'fast-check';
import t from 'tap';
import { createPasswords } from '../../src/auth/passwords.js';

const settled = () => new Promise(setImmediate);
const refused = { code: 'login_queue_full', status: 503, retryAfterS: 1 };

/** bcrypt whose work the test ends, job by job, after as many milliseconds as it says. */
function slowBcrypt() {
  const working: { password: string; hash: string | null; end: (ms: number) => void }[] = [];
  let now = 0;
  let workingMax = 0;
  const work = <T>(password: string, hash: string | null, answer: T) =>
    new Promise<T>((resolve) => {
      const job = {
        password,
        hash,
        end(ms: number) {
          now += ms;
          working.splice(working.indexOf(job), 1);
          resolve(answer);
        },
      };
      working.push(job);
      workingMax = Math.max(workingMax, working.length);
    });
  return {
    working,
    workingMax: () => workingMax,
    options: {
      nowMs: () => now,
      bcrypt: {
        hash: (password: string | Uint8Array) => work(String(password), null, `hash of ${password}`),
        verify: (password: string | Uint8Array, hash: string | Uint8Array) =>
          work(String(password), String(hash), true),
      },
    },
    /** Ends the job at work once one is. */
    async endNext(ms: number) {
      await settled();
      working[0]?.end(ms);
      await settled();
    },
  };
}

t.test('of many jobs one works at a time, in the order of their coming', async (t) => {
  const slow = slowBcrypt();
  const passwords = createPasswords(slow.options);
  const order: string[] = [];
  const jobs = ['a', 'b', 'c', 'd'].map((name) => passwords.hash(name).then(() => order.push(name)));
  for (const name of ['a', 'b', 'c', 'd']) {
    await settled();
    t.strictSame(
      slow.working.map(({ password }) => password),
      [name],
    );
    await slow.endNext(50);
  }
  await Promise.all(jobs);
  t.strictSame(order, ['a', 'b', 'c', 'd']);
  t.equal(slow.workingMax(), 1);
});

t.test('a job that comes the moment another ends does not overtake those that wait', async (t) => {
  const slow = slowBcrypt();
  const passwords = createPasswords(slow.options);
  const order: string[] = [];
  const ask = (name: string) => passwords.hash(name).then(() => order.push(name));
  const late = ask('first').then(() => ask('late'));
  const second = ask('second');
  for (let job = 0; job < 3; job++) await slow.endNext(50);
  await Promise.all([late, second]);
  t.strictSame(order, ['first', 'second', 'late']);
  t.equal(slow.workingMax(), 1);
});

t.test('a job that would wait for more than 2.5 s is refused at once, before any work is done', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 40, max: 2000 }), async (hashMs) => {
      const slow = slowBcrypt();
      const passwords = createPasswords(slow.options);
      for (let job = 0; job < 60; job++) {
        const done = passwords.hash('to measure');
        await slow.endNext(hashMs);
        await done;
      }
      const fit = Math.max(1, Math.floor(2500 / hashMs));
      const jobs = Array.from({ length: 70 }, () =>
        passwords.verify('x', null).then(
          () => true,
          () => false,
        ),
      );
      await settled();
      const early = await Promise.race([Promise.all(jobs.slice(fit + 1)), settled().then(() => null)]);
      // One more or less, for the average never quite arrives.
      t.strictSame(early, Array(70 - fit - 1).fill(false));
      for (let job = 0; job <= fit; job++) await slow.endNext(hashMs);
      const answered = (await Promise.all(jobs)).filter(Boolean).length;
      t.ok(Math.abs(answered - fit) <= 1, `${answered} of 70 answered at ${hashMs} ms each`);
    }),
    { numRuns: 20 },
  );
});

t.test('however short the work, the 65th job is refused', async (t) => {
  const slow = slowBcrypt();
  const passwords = createPasswords(slow.options);
  for (let job = 0; job < 60; job++) {
    const done = passwords.hash('to measure');
    await slow.endNext(1);
    await done;
  }
  const jobs = Array.from({ length: 64 }, () => passwords.hash('x'));
  await t.rejects(passwords.hash('x'), refused);
  for (let job = 0; job < 64; job++) await slow.endNext(1);
  t.equal((await Promise.all(jobs)).length, 64);
  const next = passwords.hash('x');
  await slow.endNext(1);
  t.equal(await next, 'hash of x', 'and there is room again');
});

t.test('after a stall of a minute the next job still gets its turn', async (t) => {
  const slow = slowBcrypt();
  const passwords = createPasswords(slow.options);
  const stalled = passwords.hash('stalled');
  await slow.endNext(60_000);
  await stalled;
  for (let job = 0; job < 40; job++) {
    const next = passwords.hash('next');
    await slow.endNext(50);
    t.equal(await next, 'hash of next');
  }
  const together = Array.from({ length: 10 }, () => passwords.hash('next'));
  for (let job = 0; job < 10; job++) await slow.endNext(50);
  t.equal((await Promise.all(together)).length, 10, 'and the wait is judged by what a hash takes now');
});

t.test('a job that fails makes room for the next', async (t) => {
  const slow = slowBcrypt();
  const failing = () => Promise.reject(new Error('out of memory'));
  const bcrypt = { ...slow.options.bcrypt, hash: failing };
  const passwords = createPasswords({ ...slow.options, bcrypt });
  const failed = passwords.hash('x');
  const next = passwords.verify('y', null);
  await t.rejects(failed, { message: 'out of memory' });
  await slow.endNext(50);
  t.equal(await next, false);
});

t.test(
  'a place is taken from the beginning: who comes while the database is asked finds it taken',
  async (t) => {
    const { passwords } = countingBcrypt();
    let found = () => {};
    const database = new Promise<void>((resolve) => {
      found = resolve;
    });
    const attempt = () =>
      passwords.withPlace(undefined, () => database.then(() => passwords.verify('x', null)));
    const inside: Promise<boolean>[] = [];
    while (!passwords.isFull()) inside.push(attempt());
    t.equal(inside.length, 41, '2.5 s of 60 ms, the first guess at a hash');
    t.equal(passwords.figures().jobs, 41);
    await t.rejects(attempt(), refused);
    found();
    await Promise.all(inside);
    t.notOk(passwords.isFull(), 'and each gives its place back');
    await t.rejects(
      passwords.withPlace(undefined, () => Promise.reject(new Error('no database'))),
      {
        message: 'no database',
      },
    );
    t.equal(passwords.figures().jobs, 0, 'also when it fails');
  },
);

t.test('an address holds as many places of the queue as it leaves free for others', async (t) => {
  const { passwords } = countingBcrypt();
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const inside: Promise<void>[] = [];
  const fill = (address: string) => {
    let places = 0;
    for (; !passwords.isFull(address); places++) inside.push(passwords.withPlace(address, () => ended));
    return places;
  };
  t.equal(fill('one'), 21, 'half of the 41 places');
  await t.rejects(
    passwords.withPlace('one', async () => {}),
    refused,
  );
  t.equal(fill('two'), 15, 'fewer than 20, and 5 stay free');
  t.equal(fill('three'), 3);
  t.notOk(passwords.isFull('four'), 'and there is room yet');
  end();
  await Promise.all(inside);
  t.equal(fill('one'), 21, 'what was given back is free again');
  await Promise.all(inside);
});

t.test('twenty attempts from one address find a place where a hash takes twice its usual time', async (t) => {
  const slow = slowBcrypt();
  const passwords = createPasswords(slow.options);
  for (let job = 0; job < 60; job++) {
    const done = passwords.hash('to measure');
    await slow.endNext(99);
    await done;
  }
  const attempts = Array.from({ length: 21 }, () =>
    passwords
      .withPlace('one', () => passwords.hash('x'))
      .then(
        () => true,
        () => false,
      ),
  );
  t.notOk(passwords.isFull('two'), 'and another address one as well');
  for (let job = 0; job < 20; job++) await slow.endNext(99);
  t.strictSame(await Promise.all(attempts), [...Array(20).fill(true), false]);
});

t.test(
  'a guess is admitted in its turn, when all before it are settled, and costs nothing else',
  async (t) => {
    const slow = slowBcrypt();
    const passwords = createPasswords(slow.options);
    const happened: string[] = [];
    const guess = (name: string) => ({
      admit() {
        happened.push(`${name}?`);
        if (name === 'second') throw new Error('one too many');
      },
      settle: (right: boolean) => void happened.push(`${name} ${right}`),
    });
    const stored = `$2b$10$${'.'.repeat(53)}`;
    const first = passwords.verify('a', stored, guess('first'));
    const second = passwords.verify('b', stored, guess('second'));
    const isRefused = t.rejects(second, { message: 'one too many' });
    const third = passwords.verify('c', null, guess('third'));
    await slow.endNext(50);
    await isRefused;
    await slow.endNext(50);
    t.strictSame([await first, await third], [true, false]);
    t.strictSame(happened, ['first?', 'first true', 'second?', 'third?', 'third false']);
    t.equal(Math.round(passwords.figures().waitMs), 58, 'what was not hashed does not count as a fast hash');
  },
);

// A salt ends in one of four characters, because 22 characters carry 4 bits more than it has.
const salt = fc
  .tuple(fc.stringMatching(/^[./A-Za-z0-9]{21}$/), fc.constantFrom('.', 'O', 'e', 'u'))
  .map((parts) => parts.join(''));
const digest = fc.stringMatching(/^[./A-Za-z0-9]{31}$/);
const wellFormed = fc.tuple(salt, digest).map(([salt, digest]) => `$2y$10$${salt}${digest}`);
const malformed = fc.oneof(
  fc.string(),
  fc.constantFrom('', '$2b$10$', '$2b$10$'.padEnd(60, '.').slice(0, 59), 'plain text'),
  // Costs that would answer sooner, or in hours
  fc
    .tuple(wellFormed, fc.constantFrom('04', '09', '11', '31', '99', '1', '010'))
    .map(([hash, cost]) => hash.replace('$10$', `$${cost}$`)),
  fc
    .tuple(wellFormed, fc.constantFrom('z', '', 'bb', 'B'))
    .map(([hash, version]) => hash.replace('$2y', `$2${version}`)),
  fc.tuple(wellFormed, fc.constantFrom('\n', ' ', '.', '\0')).map(([hash, tail]) => hash + tail),
  // A salt that bcrypt cannot decode: it answers in microseconds
  fc
    .tuple(wellFormed, fc.stringMatching(/^[/A-NP-Za-df-tv-z0-9]$/))
    .map(([hash, last]) => hash.slice(0, 28) + last + hash.slice(29)),
  fc
    .tuple(wellFormed, fc.nat(52), fc.constantFrom('$', '+', '=', 'é'))
    .map(([hash, at, bad]) => hash.slice(0, 7 + at) + bad + hash.slice(8 + at)),
);

/** Answers at once, true, and keeps what it was asked. */
function countingBcrypt() {
  const asked: { password: string; hash: string }[] = [];
  const bcrypt = {
    hash: async () => 'unused',
    async verify(password: string | Uint8Array, hash: string | Uint8Array) {
      asked.push({ password: String(password), hash: String(hash) });
      return true;
    },
  };
  return { asked, passwords: createPasswords({ bcrypt }) };
}

t.test(
  'an unknown user, a malformed hash and a password too long cost one verification at cost 10',
  async (t) => {
    const { asked, passwords } = countingBcrypt();
    t.equal(await passwords.verify('right', null), false);
    const [nobody] = asked.splice(0);
    t.match(nobody?.hash, /^\$2[aby]\$10\$[./A-Za-z0-9]{53}$/);
    t.equal(nobody?.password, 'right');

    await fc.assert(
      fc.asyncProperty(malformed, async (stored) => {
        const answer = await passwords.verify('right', stored);
        return answer === false && asked.length === 1 && asked.pop()?.hash === nobody?.hash;
      }),
      { numRuns: 2000 },
    );
    await fc.assert(
      fc.asyncProperty(wellFormed, async (stored) => {
        const answer = await passwords.verify('x'.repeat(73), stored);
        return answer === false && asked.length === 1 && asked.pop()?.hash === stored;
      }),
    );
    await fc.assert(
      fc.asyncProperty(wellFormed, async (stored) => {
        const answer = await passwords.verify('right', stored);
        return answer === true && asked.length === 1 && asked.pop()?.hash === stored;
      }),
    );
  },
);

t.test('the hash of no user is one that bcrypt itself works on', async (t) => {
  const { asked, passwords } = countingBcrypt();
  await passwords.verify('x', null);
  const nobody = asked[0]?.hash ?? '';
  // Its own text comes back when its salt is used again: so it is decoded, and the cost is spent.
  const salt = Buffer.from(decodeSalt(nobody));
  t.equal((await bcryptHash('x', 10, salt)).slice(0, 29), nobody.slice(0, 29));
});

t.test('what was hashed is verified, and nothing else is', async (t) => {
  const passwords = createPasswords();
  const hash = await passwords.hash('over and out');
  t.match(hash, /^\$2[aby]\$10\$/);
  t.equal(await passwords.verify('over and out', hash), true);
  t.equal(await passwords.verify('over and ouT', hash), false);
  t.equal(await passwords.verify('', hash), false);
  t.not(await passwords.hash('over and out'), hash, 'salted');
});

t.test(
  '72 bytes are all compared, the 73rd makes a password wrong, however many bytes a character has',
  async (t) => {
    const passwords = createPasswords();
    for (const [name, text] of [
      ['one byte', 'x'.repeat(72)],
      ['two bytes', 'é'.repeat(36)],
      ['three bytes', '€'.repeat(24)],
      ['four bytes', '😀'.repeat(18)],
    ] as const) {
      const hash = await passwords.hash(text);
      t.equal(await passwords.verify(text, hash), true, name);
      t.equal(await passwords.verify(`${text}x`, hash), false, `${name}: 73`);
      const shorter = [...text].slice(0, -1).join('');
      t.equal(await passwords.verify(shorter, hash), false, `${name}: one character less`);
    }
    await t.rejects(passwords.hash('x'.repeat(73)), { code: 'ERR_ASSERTION' });
    await t.rejects(passwords.hash('€'.repeat(25)), { code: 'ERR_ASSERTION' });
  },
);

/** The 16 bytes in bcrypt's own base 64. */
function decodeSalt(hash: string): number[] {
  const alphabet = './ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
  const bits = [...hash.slice(7, 29)]
    .map((character) => alphabet.indexOf(character).toString(2).padStart(6, '0'))
    .join('');
  return Array.from({ length: 16 }, (_, byte) => Number.parseInt(bits.slice(8 * byte, 8 * byte + 8), 2));
}
