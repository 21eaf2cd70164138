// Which parked session is given up when there are too many, against a model that looks at all of them.
import fc from 'fast-check';
import t from 'tap';
import type { UserId } from '../../src/ids.js';
import { newCounts } from '../../src/relay/figures/counts.js';
import { createParked } from '../../src/relay/session/parked.js';
import { createParking, keyOf, type Resumable, relayOf } from '../../src/relay/session/parking.js';

interface Parkable extends Resumable {
  readonly number: number;
}

/** Parking of sessions reduced to what it knows of them. `given` are those given up, in order. */
function newParking({
  max,
  maxOfUser,
  keepMs = 60_000,
}: {
  max: number;
  maxOfUser: number;
  keepMs?: number;
}) {
  const given: number[] = [];
  const counts = newCounts();
  const parking = createParking<Parkable>({
    ...{ keepMs, max, maxOfUser, counts },
    giveUp(session) {
      given.push(session.number);
      parking.forget(session);
    },
  });
  const users = new Map<string, { id: UserId }>();
  const userOf = (id: string) => {
    const user = users.get(id) ?? { id: id as UserId };
    users.set(id, user);
    return user;
  };
  let sessions = 0;
  return {
    given,
    counts,
    /** As much of a session as parking uses. */
    newSession: (user: string): Parkable => ({ user: userOf(user), number: ++sessions, resumeKey: null }),
    parking,
  };
}

t.test('a user with many parked sessions loses its own, and those of no other user', async (t) => {
  const { parking, newSession, given, counts } = newParking({ max: 5, maxOfUser: 4 });
  const park = (user: string) => {
    const session = newSession(user);
    parking.park(session, 0);
    return session;
  };
  const ann = park('ann');
  for (let count = 0; count < 4; count++) park('eve');
  t.same(given, []);
  park('eve');
  t.same(given, [2], 'her longest parked: of one user there are four');
  park('bob');
  t.same(given, [2, 3], 'hers again: she has the most');
  park('cid');
  park('dan');
  t.same(given, [2, 3, 4, 5], 'until all have one');
  park('fay');
  t.same(given, [2, 3, 4, 5, ann.number], 'of equals the longest parked');
  t.equal(counts.forgotten, 5);
});

t.test('with other relays a token names its own, and is found by its key', async (t) => {
  let relay: number | null = null;
  const counts = newCounts();
  const giveUp = () => {};
  const parking = createParking<Parkable>({
    ...{ keepMs: 100, max: 5, maxOfUser: 5, counts, giveUp },
    relay: () => relay,
  });
  const id = 'ann' as UserId;
  const session: Parkable = { user: { id }, number: 1, resumeKey: null };
  const plain = parking.tokenFor(session);
  t.equal(Buffer.from(plain, 'base64url').length, 16);
  t.equal(relayOf(plain), null);
  relay = 0xfedcba98;
  const token = parking.tokenFor(session);
  t.equal(relayOf(token), relay);
  t.equal(parking.find(plain, id), null, 'the one before is void');
  t.equal(parking.at(keyOf(token), id), session);
  t.equal(parking.at(keyOf(token), 'bob' as UserId), null);
  for (const bad of ['', 'x'.repeat(26), 'x'.repeat(28), `${'x'.repeat(26)}+`]) t.equal(relayOf(bad), null);
});

t.test('a session that was parked elsewhere before is kept for what is left of its time', async (t) => {
  const { parking, newSession, given } = newParking({ max: 9, maxOfUser: 9, keepMs: 100 });
  const [first, second, third] = [newSession('ann'), newSession('bob'), newSession('cid')];
  parking.park(first, 0);
  parking.park(second, 10, 30);
  parking.park(third, 20, 500);
  t.same(
    [first, second, third].map((one) => parking.leftMs(one, 30)),
    [70, 10, 90],
  );
  parking.expire(39);
  t.same(given, []);
  parking.expire(40);
  t.same(given, [second.number]);
  parking.adopt(second, 'its key');
  t.equal(parking.at('its key', second.user.id), second);
  parking.expire(120);
  t.same(given, [2, 1, 3]);
  t.equal(parking.leftMs(first, 120), null);
});

type Deed =
  | { deed: 'parks'; user: number }
  | { deed: 'returns' | 'ends' | 'returnsAndParks'; which: number }
  | { deed: 'passes'; ms: number };

const deed: fc.Arbitrary<Deed> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ deed: fc.constant('parks' as const), user: fc.nat(5) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      deed: fc.constantFrom('returns' as const, 'ends' as const, 'returnsAndParks' as const),
      which: fc.nat(),
    }),
  },
  fc.record({ deed: fc.constant('passes' as const), ms: fc.constantFrom(0, 10, 50) }),
);

t.test('over any history the one given up is that of the user with the most, longest parked', async (t) => {
  const limits = fc.record({
    max: fc.integer({ min: 1, max: 12 }),
    maxOfUser: fc.integer({ min: 1, max: 5 }),
  });
  fc.assert(
    fc.property(limits, fc.array(deed, { maxLength: 120, size: 'max' }), (limits, deeds) => {
      const keepMs = 100;
      const { parking, newSession, given } = newParking({ ...limits, keepMs });
      /** The longest parked first. */
      let parked: { session: Parkable; sinceMs: number }[] = [];
      const expected: number[] = [];
      let nowMs = 0;
      const countOf = (user: object) => parked.filter(({ session }) => session.user === user).length;
      const giveUp = (one: (typeof parked)[number] | undefined) => {
        if (one === undefined) return;
        parked = parked.filter((other) => other !== one);
        expected.push(one.session.number);
      };
      const park = (session: Parkable) => {
        parking.park(session, nowMs);
        parked.push({ session, sinceMs: nowMs });
        if (countOf(session.user) > limits.maxOfUser)
          giveUp(parked.find((one) => one.session.user === session.user));
        if (parked.length > limits.max) {
          const most = Math.max(...parked.map((one) => countOf(one.session.user)));
          giveUp(parked.find((one) => countOf(one.session.user) === most));
        }
      };
      for (const next of deeds) {
        if (next.deed === 'parks') park(newSession(`user ${next.user}`));
        else if (next.deed === 'passes') {
          nowMs += next.ms;
          parking.expire(nowMs);
          for (const one of [...parked]) if (nowMs - one.sinceMs >= keepMs) giveUp(one);
        } else {
          const one = parked[next.which % Math.max(1, parked.length)];
          if (one === undefined) continue;
          parked = parked.filter((other) => other !== one);
          if (next.deed === 'ends') parking.forget(one.session);
          else parking.unpark(one.session);
          if (next.deed === 'returnsAndParks') park(one.session);
        }
        if (given.join() !== expected.join()) throw new Error(`${given} were given up, not ${expected}`);
      }
    }),
    { numRuns: Number(process.env.PROVE_RUNS ?? 3000) / 3 },
  );
  t.pass('as in the model');
});

t.test('with 20,000 users parked the next one is found without a look at all of them', async (t) => {
  const parked = createParked<{ user: object }>();
  const users = Array.from({ length: 20_000 }, () => ({}));
  for (const user of users) parked.add({ user });
  const from = performance.now();
  for (const user of [...users, ...users]) {
    parked.add({ user });
    const next = parked.next();
    if (next !== undefined) parked.remove(next);
  }
  const tookMs = performance.now() - from;
  t.equal(parked.size, 20_000);
  t.ok(tookMs < 3_000, `${Math.round(tookMs)} ms for 40,000; looks at all of them take ten times that`);
});
