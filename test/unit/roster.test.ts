// What PRESENCE tells, against a roster that remembers everything, and the pages of MEMBERS against a sort.
import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import type { Member } from '../../src/protocol/bodies.js';
import { Listing } from '../../src/relay/presence/page.js';
import { type Announcement, Roster } from '../../src/relay/presence/roster.js';

const present = (session: number, site = 'depot'): Member => ({
  session,
  user_id: `user ${session}`,
  username: `radio${session}`,
  site,
});

t.test('members that came and went are told once', async (t) => {
  const roster = new Roster();
  t.equal(roster.flush(2), null, 'nothing yet');
  roster.joined(present(7));
  roster.left(present(3));
  t.strictSame(roster.flush(2), { joined: [present(7)], left: [3], online: 2 });
  t.equal(roster.flush(2), null, 'nothing since');
});

t.test('a member that comes and goes within a period is not mentioned', async (t) => {
  const roster = new Roster();
  roster.joined(present(7));
  roster.left(present(7));
  t.equal(roster.flush(2), null);
});

t.test('a member that resumes on a new socket within a period was never away', async (t) => {
  const roster = new Roster();
  roster.left(present(7));
  roster.joined(present(7));
  t.equal(roster.flush(2), null, 'looking the same');
});

t.test('a member that comes back from another site has joined, and has not left', async (t) => {
  const roster = new Roster();
  roster.left(present(7));
  roster.joined(present(7, 'harbour'));
  t.strictSame(roster.flush(2), { joined: [present(7, 'harbour')], left: [], online: 2 });
});

t.test('32 changes are named, and of 33 only the number that is left', async (t) => {
  const roster = new Roster();
  for (let session = 1; session <= 20; session++) roster.joined(present(session));
  for (let session = 101; session <= 112; session++) roster.left(present(session));
  const announcement = roster.flush(500);
  t.match(announcement, { joined: { length: 20 }, left: { length: 12 }, online: 500 });

  for (let session = 1; session <= 33; session++) roster.left(present(session));
  t.strictSame(roster.flush(467), { online: 467 });
  roster.joined(present(1));
  t.strictSame(roster.flush(468), { joined: [present(1)], left: [], online: 468 }, 'and then names again');
});

t.test('whatever happens, what is told is the difference of two moments', async () => {
  const toggle = fc.record({
    session: fc.oneof(fc.nat(4), fc.nat(200)), // a few that come and go all the time, and many
    site: fc.constantFrom('depot', 'harbour'),
  });
  const flush = fc.constant('flush' as const);
  const steps = fc.array(fc.oneof({ arbitrary: toggle, weight: 30 }, { arbitrary: flush, weight: 1 }), {
    maxLength: 300,
    size: 'max',
  });
  fc.assert(
    fc.property(steps, (steps) => {
      const roster = new Roster();
      const naive = newNaiveRoster();
      for (const step of [...steps, 'flush']) {
        if (typeof step === 'string') {
          assertSame(naive.flush(), roster.flush(naive.now.size));
          continue;
        }
        const was = naive.now.get(step.session);
        if (was === undefined) roster.joined(present(step.session, step.site));
        else roster.left(was);
        naive.toggle(present(step.session, step.site));
        if (keptBy(roster) > 32) throw new Error(`${keptBy(roster)} changes kept`);
      }
    }),
    { numRuns: 300 },
  );
});

t.test('a client that takes a page knows all members behind the next announcement', async () => {
  const toggle = fc.record({ session: fc.nat(4), site: fc.constantFrom('depot', 'harbour') });
  const step = fc.oneof(
    { arbitrary: toggle, weight: 6 },
    { arbitrary: fc.constantFrom('page' as const, 'flush' as const), weight: 1 },
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const roster = new Roster();
      const now = new Map<number, Member>();
      let known: Map<number, Member> | null = null; // until the first page
      for (const one of [...steps, 'flush' as const]) {
        if (one === 'page') {
          roster.listed();
          known = new Map(now);
        } else if (one === 'flush') {
          const told = roster.flush(now.size);
          for (const session of told !== null && 'left' in told ? told.left : []) known?.delete(session);
          for (const member of told !== null && 'left' in told ? told.joined : [])
            known?.set(member.session, member);
          if (known !== null) assert.deepEqual(known, now);
        } else {
          const was = now.get(one.session);
          if (was === undefined) now.set(one.session, present(one.session, one.site));
          else now.delete(one.session);
          if (was === undefined) roster.joined(present(one.session, one.site));
          else roster.left(was);
        }
      }
    }),
    { numRuns: 1000 },
  );
});

/** Remembers all members, then and now. */
function newNaiveRoster() {
  const now = new Map<number, Member>();
  let then = new Map<number, Member>();
  let most = 0;

  function difference(): Announcement & { joined: readonly Member[]; left: readonly number[] } {
    const joined = [...now.values()].filter(({ session, site }) => then.get(session)?.site !== site);
    const left = [...then.keys()].filter((session) => !now.has(session));
    return { joined, left, online: now.size };
  }

  return {
    now: now as ReadonlyMap<number, Member>,
    toggle(entry: Member): void {
      if (!now.delete(entry.session)) now.set(entry.session, entry);
      const { joined, left } = difference();
      most = Math.max(most, joined.length + left.length);
    },
    flush(): Announcement | null {
      const { joined, left, online } = difference();
      const wereMany = most > 32;
      then = new Map(now);
      most = 0;
      if (wereMany) return { online };
      return joined.length + left.length === 0 ? null : { joined, left, online };
    },
  };
}

function assertSame(expected: Announcement | null, told: Announcement | null): void {
  const [one, other] = [expected, told].map((announcement) => JSON.stringify(inOrder(announcement)));
  if (one !== other) throw new Error(`told ${other} instead of ${one}`);
}

function inOrder(announcement: Announcement | null): unknown {
  if (announcement === null || !('joined' in announcement)) return announcement;
  const { joined, left, online } = announcement;
  return {
    joined: joined.toSorted((a, b) => a.session - b.session),
    left: left.toSorted((a, b) => a - b),
    online,
  };
}

function keptBy(roster: Roster): number {
  const maps = Object.values(roster).filter((value) => value instanceof Map);
  return maps.reduce((sum, map) => sum + map.size, 0);
}

const numbered = (numbers: Iterable<number>) => [...numbers].map((number) => ({ number }));
const someNumbers = fc.uniqueArray(fc.integer({ min: 1, max: 400 }), { maxLength: 300, size: 'max' });

t.test('a page holds the lowest numbers after the last one, in whatever order they came', async () => {
  fc.assert(
    fc.property(
      fc.record({ there: someNumbers, come: someNumbers, go: someNumbers }),
      fc.integer({ min: 0, max: 400 }),
      fc.integer({ min: 1, max: 40 }),
      ({ there, come, go }, after, limit) => {
        const listing = new Listing(numbered(there));
        for (const session of numbered(come)) listing.add(session);
        for (const session of numbered(go)) listing.delete(session);
        const present = new Set([...there, ...come]);
        for (const number of go) present.delete(number);
        const rest = [...present].filter((number) => number > after).sort((a, b) => a - b);
        const { page, next } = listing.page(after, limit);
        const expected = {
          numbers: rest.slice(0, limit),
          next: rest.length > limit ? rest[limit - 1] : null,
        };
        const found = { numbers: page.map(({ number }) => number), next };
        if (JSON.stringify(found) !== JSON.stringify(expected)) throw new Error(JSON.stringify(found));
      },
    ),
    { numRuns: 500 },
  );
});

t.test('a member that stays is on exactly one page, whatever comes and goes between two pages', async () => {
  fc.assert(
    fc.property(
      someNumbers,
      fc.array(someNumbers, { maxLength: 10 }),
      fc.integer({ min: 1, max: 40 }),
      (stay, comers, limit) => {
        const listing = new Listing(numbered(stay));
        const seen: number[] = [];
        let after: number | null = 0;
        for (let pages = 0; after !== null && pages < 1000; pages++) {
          const coming = numbered((comers[pages % comers.length] ?? []).filter((one) => !stay.includes(one)));
          for (const session of coming) listing.add(session);
          const found = listing.page(after, limit);
          seen.push(...found.page.map(({ number }) => number));
          after = found.next;
          for (const session of coming) listing.delete(session);
        }
        const missed = stay.filter((number) => seen.filter((one) => one === number).length !== 1);
        if (missed.length > 0) throw new Error(`not once: ${missed.join()}`);
      },
    ),
    { numRuns: 200 },
  );
});

t.test('a page of a full talkgroup looks at some of its sessions, not at all', async (t) => {
  let reads = 0;
  const sessions = Array.from({ length: 10_000 }, (_, index) => ({
    get number() {
      reads++;
      return 10_000 - index;
    },
  }));
  const listing = new Listing(sessions);
  reads = 0;
  for (let asked = 0; asked < 100; asked++) t.equal(listing.page(0, 100).next, 100);
  t.ok(reads < 100 * 20, `${reads} reads of 10,000 numbers for 100 pages`);
});
