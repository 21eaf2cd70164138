// The limits on wrong passwords and registrations: what they bound, whom they spare and what they forget.
import fc from 'fast-check';
import t from 'tap';
import { createLimits, type LimitsOptions } from '../../src/auth/limits.js';
import { createBuckets, type Rate } from '../../src/buckets.js';
import { AppError } from '../../src/errors.js';
import { addressKey } from '../../src/http/address.js';

const DAY_MS = 24 * 3600 * 1000;
const WIDE: Rate = { atOnce: 1_000_000, perMinute: 1_000_000 };

/** Limits whose clock the test turns. What it does not name is wide open. */
function limitsAt(options: Partial<LimitsOptions>) {
  const clock = { nowMs: 0 };
  const limits = createLimits({
    pair: WIDE,
    name: WIDE,
    address: WIDE,
    registrations: WIDE,
    remembered: 1000,
    nowMs: () => clock.nowMs,
    ...options,
  });
  /** null: admitted, and judged. Else the seconds to wait. */
  function tries(name: string, address: string, right = false): number | null {
    const guess = limits.login({ name, address });
    const waitS = refusalOf(guess.admit);
    if (waitS === null) guess.settle(right);
    return waitS;
  }
  return { clock, limits, tries };
}

function refusalOf(act: () => void): number | null {
  try {
    act();
    return null;
  } catch (error) {
    if (error instanceof AppError && error.status === 429) return error.retryAfterS;
    throw error;
  }
}

/** Rates whose refill is a whole number of milliseconds. */
const rate = fc.record({
  atOnce: fc.integer({ min: 1, max: 30 }),
  perMinute: fc.constantFrom(6, 20, 60, 300),
});
const pauses = fc.array(fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 20_000 })), { maxLength: 200 });

t.test(
  'however attempts are spread, no stretch of time holds more failures than the rate allows',
  async (t) => {
    fc.assert(
      fc.property(rate, pauses, (rate, pauses) => {
        const buckets = createBuckets(rate);
        const failedAtMs: number[] = [];
        let nowMs = 0;
        for (const pauseMs of pauses) {
          nowMs += pauseMs;
          if (buckets.waitMs('ann', nowMs) > 0) continue;
          buckets.take('ann', nowMs);
          failedAtMs.push(nowMs);
        }
        const refillMs = 60_000 / rate.perMinute;
        return failedAtMs.every((fromMs, first) =>
          failedAtMs
            .slice(first)
            .every((toMs, further) => further + 1 <= rate.atOnce + (toMs - fromMs) / refillMs),
        );
      }),
    );
    t.pass();
  },
);

t.test(
  'a user who waits as long as told is admitted, and one who comes a millisecond earlier is not',
  async (t) => {
    fc.assert(
      fc.property(rate, pauses, (rate, pauses) => {
        const buckets = createBuckets(rate);
        let nowMs = 0;
        for (const pauseMs of pauses) {
          nowMs += pauseMs;
          buckets.take('ann', nowMs);
          const waitMs = buckets.waitMs('ann', nowMs);
          if (buckets.waitMs('ann', nowMs + waitMs) !== 0) return false;
          if (waitMs > 0 && buckets.waitMs('ann', nowMs + waitMs - 1) === 0) return false;
          if (buckets.waitMs('bob', nowMs) !== 0) return false;
        }
        return true;
      }),
    );
    t.pass();
  },
);

t.test('the 21st wrong password is refused, and after that one passes every 3 s', async (t) => {
  const { clock, tries, limits } = limitsAt({ pair: { atOnce: 20, perMinute: 20 } });
  for (let attempt = 0; attempt < 20; attempt++) t.equal(tries('ann', 'here'), null);
  t.equal(tries('ann', 'here'), 3);
  clock.nowMs += 2999;
  t.equal(tries('ann', 'here'), 1);
  clock.nowMs += 1;
  t.equal(tries('ann', 'here'), null);
  t.equal(tries('ann', 'here'), 3);
  t.equal(tries('bob', 'here'), null);
  t.equal(tries('ann', 'there'), null);
  t.equal(limits.counts.pair, 3);
});

t.test('right passwords never count', async (t) => {
  const one = { atOnce: 1, perMinute: 1 };
  const { tries } = limitsAt({ pair: one, name: one, address: one });
  for (let attempt = 0; attempt < 100; attempt++) {
    t.equal(tries('ann', 'here', true), null);
    t.equal(tries('ann', `place ${attempt}`, true), null, 'nor against the name');
    t.equal(tries(`name ${attempt}`, 'here', true), null, 'nor against the address');
  }
});

t.test('the owner is admitted, whatever others do elsewhere or behind the same address', async (t) => {
  const tight = { atOnce: 2, perMinute: 1 };
  const somebody = fc.record({
    name: fc.constantFrom('ann', 'bob', 'eve', ''),
    address: fc.constantFrom('home', 'there', 'elsewhere'),
    right: fc.boolean(),
    pauseMs: fc.integer({ min: 0, max: DAY_MS / 10 }),
  });
  fc.assert(
    fc.property(fc.array(somebody, { maxLength: 200 }), (history) => {
      const { clock, tries } = limitsAt({ pair: tight, name: tight, address: tight });
      tries('ann', 'home', true);
      for (const { name, address, right, pauseMs } of history) {
        clock.nowMs += pauseMs;
        const isOwner = name === 'ann' && address === 'home';
        if (!isOwner) tries(name, address, right);
        else if (tries(name, address, true) !== null) return false;
      }
      return tries('ann', 'home', true) === null;
    }),
  );
  t.pass();
});

t.test('where a name has not logged in lately, its wrong passwords from everywhere add up', async (t) => {
  const { clock, tries, limits } = limitsAt({ name: { atOnce: 200, perMinute: 60 } });
  t.equal(tries('ann', 'home', true), null);
  for (let attempt = 0; attempt < 200; attempt++) t.equal(tries('ann', `address ${attempt}`), null);
  t.equal(tries('ann', 'one more', true), 1, 'right or wrong');
  t.equal(limits.counts.name, 1);
  t.equal(tries('ann', 'home', true), null, 'but not at home');
  t.equal(tries('bob', 'one more'), null);
  clock.nowMs += 30 * DAY_MS - 1;
  for (let attempt = 0; attempt < 201; attempt++) tries('ann', 'elsewhere');
  t.equal(tries('ann', 'home'), null, 'for 30 days');
  clock.nowMs += 1;
  for (let attempt = 0; attempt < 201; attempt++) tries('ann', 'elsewhere');
  t.not(tries('ann', 'home', true), null, 'and no longer');
});

t.test('of one address many names may be wrong, until there are too many of them', async (t) => {
  const { tries, limits } = limitsAt({ address: { atOnce: 500, perMinute: 300 } });
  t.equal(tries('ann', 'depot', true), null);
  for (let name = 0; name < 500; name++) t.equal(tries(`name ${name}`, 'depot'), null);
  t.equal(tries('one more', 'depot'), 1);
  t.equal(limits.counts.address, 1);
  t.equal(tries('ann', 'depot', true), null, 'who has logged in there still does');
  t.equal(tries('one more', 'elsewhere'), null);
});

t.test('a registration makes its address known as a login does', async (t) => {
  const tight = { atOnce: 1, perMinute: 1 };
  const { tries, limits } = limitsAt({ name: tight });
  limits.remember({ name: 'ann', address: 'home' });
  tries('ann', 'elsewhere');
  t.equal(tries('ann', 'home', true), null);
  t.equal(tries('ann', 'elsewhere', true), 60);
});

t.test('a user’s wrong old passwords count for that user, and no login is refused for them', async (t) => {
  const tight = { atOnce: 2, perMinute: 20 };
  const { limits, tries } = limitsAt({ pair: tight });
  for (const user of ['ann', 'bob']) {
    for (let attempt = 0; attempt < 2; attempt++) limits.oldPassword(user).settle(false);
    limits.oldPassword(user).settle(true);
    t.equal(refusalOf(limits.oldPassword(user).admit), 3);
  }
  t.equal(tries('ann', 'here', true), null);
  t.equal(limits.counts.old_password, 2);
});

t.test('registrations count whatever becomes of them, by address', async (t) => {
  const { clock, limits } = limitsAt({ registrations: { atOnce: 600, perMinute: 600 } });
  const registers = (address: string) => refusalOf(() => limits.register(address));
  for (let registration = 0; registration < 600; registration++) t.equal(registers('depot'), null);
  t.equal(registers('depot'), 1);
  t.equal(registers('elsewhere'), null);
  clock.nowMs += 100;
  t.equal(registers('depot'), null);
  t.equal(registers('depot'), 1, 'a tenth of a second is one of 600 a minute');
});

t.test('memory is bounded: the bucket longest untouched is forgotten for the 20,001st', async (t) => {
  let forgotten = 0;
  const buckets = createBuckets({ atOnce: 1, perMinute: 1 }, () => forgotten++);
  for (let key = 0; key < 20_000; key++) buckets.take(`${key}`, 0);
  buckets.take('0', 0);
  t.not(buckets.waitMs('1', 0), 0);
  t.equal(forgotten, 0);
  buckets.take('one more', 0);
  t.equal(forgotten, 1);
  t.equal(buckets.waitMs('1', 0), 0);
  t.not(buckets.waitMs('0', 0), 0, 'touched again meanwhile');
});

t.test('thousands of registered names make no user forgotten who logged in', async (t) => {
  const { limits, tries } = limitsAt({ name: { atOnce: 1, perMinute: 1 }, remembered: 10 });
  tries('ann', 'home', true);
  for (let n = 0; n < 100; n++) limits.remember({ name: `bot ${n}`, address: 'elsewhere' });
  tries('ann', 'elsewhere');
  t.not(tries('ann', 'elsewhere'), null, 'the name is limited');
  t.equal(tries('ann', 'home'), null);
});

t.test('a connection that was reset has an address like any that cannot be read', async (t) => {
  t.equal(addressKey(undefined), addressKey('no address'));
});

t.test('of logins remembered, the oldest are forgotten', async (t) => {
  const tight = { atOnce: 1, perMinute: 1 };
  const { tries, limits } = limitsAt({ name: tight, remembered: 2 });
  for (const address of ['first', 'second', 'first', 'third']) tries('ann', address, true);
  t.strictSame(limits.forgotten, { tries: 0, owners: 1 });
  tries('ann', 'elsewhere');
  t.equal(tries('ann', 'second', true), 60);
  t.equal(tries('ann', 'first', true), null);
  t.equal(tries('ann', 'third', true), null);
});

t.test('an address is an IPv4 address or 64 bits of an IPv6 address, however it is written', async (t) => {
  const cases: [ip: string, key: string][] = [
    ['203.0.113.7', '203.0.113.7'],
    ['::ffff:203.0.113.7', '203.0.113.7'],
    ['::FFFF:203.0.113.7', '203.0.113.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:DB8:0001:2::1', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['2001:db8::', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['::', '0:0:0:0::/64'],
    ['1::2:3:4:5:6:7', '1:0:2:3::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['64:ff9b::203.0.113.7', '64:ff9b:0:0::/64'],
    ['', 'unreadable'],
    ['unknown', 'unreadable'],
    ['203.0.113.7:4711', 'unreadable'],
    ['x'.repeat(10_000), 'unreadable'],
  ];
  for (const [ip, key] of cases) t.equal(addressKey(ip), key, ip.slice(0, 40));
});

t.test('two addresses of IPv6 have one key exactly when their first 64 bits are the same', async (t) => {
  const groups = fc.array(fc.constantFrom(0, 0, 1, 0xffff), { minLength: 8, maxLength: 8 });
  const written = ([...groups]: number[]) => groups.map((group) => group.toString(16)).join(':');
  fc.assert(
    fc.property(groups, groups, (one, other) => {
      const isSame = one.slice(0, 4).join() === other.slice(0, 4).join();
      return isSame === (addressKey(written(one)) === addressKey(written(other)));
    }),
  );
  t.pass();
});
