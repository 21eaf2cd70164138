// The authority that shares floors with other relays, while all members are on this relay: it answers as the local one.
import fc from 'fast-check';
import t from 'tap';
import type { FloorMode } from '../../src/protocol/codes.js';
import { newCounts } from '../../src/relay/figures/counts.js';
import { type Authority, type ClaimEvent, createLocalAuthority } from '../../src/relay/floor/authority.js';
import { Talkgroup } from '../../src/relay/members/members.js';
import { createSharedAuthority } from '../../src/relay/shared-floor/authority.js';
import { linkAlone } from '../helpers/cluster/alone.js';
import { userIdOf } from '../helpers/relay/floor-onlooker.js';
import { talkgroupRow } from '../helpers/relay/rows.js';

type Act =
  | ClaimEvent
  | { readonly kind: 'settings'; readonly mode: FloorMode }
  | { readonly kind: 'close' }
  | { readonly kind: 'tick' };

const session = fc.integer({ min: 1, max: 6 });
const code = fc.constantFrom('left' as const, 'disabled' as const, 'rate_limited' as const);
const mode = fc.constantFrom<FloorMode[]>('single', 'single', 'broadcast', 'open');
const claim = fc.record({ session, priority: fc.nat(7), inEmergency: fc.boolean() }).map((asking) => ({
  ...asking,
  user: userIdOf({ user: asking.session >> 1 }),
  isAdmin: asking.session < 3,
}));
const kind = <K extends string>(name: K) => fc.constant(name);
const act: fc.Arbitrary<Act> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: kind('request'), claim, queue: fc.boolean() }) },
  { weight: 4, arbitrary: fc.record({ kind: kind('frame'), claim }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: kind('release'),
      session,
      code: fc.constantFrom('released' as const, 'silence'),
    }),
  },
  fc.record({ kind: kind('removed'), session, code }),
  fc.record({ kind: kind('lost'), session, forGood: fc.boolean() }),
  fc.record({ kind: kind('returned'), session }),
  fc.record({
    kind: kind('emergency'),
    sessions: fc.array(session).map((sessions) => new Set(sessions)),
    inEmergency: fc.boolean(),
  }),
  fc.record({ kind: kind('settings'), mode }),
  fc.record({ kind: kind('close') }),
  { weight: 3, arbitrary: fc.record({ kind: kind('tick') }) },
);
const ms = fc.oneof(fc.constantFrom(0, 1, 50), fc.constantFrom(500, 1500, 2000, 5000));

const RUNS = Number(process.env.PROVE_RUNS ?? 3000);

/** What an authority says to these acts, and what it has counted. */
function answersOf(
  make: (options: Parameters<typeof createLocalAuthority>[0]) => Authority,
  first: FloorMode,
  acts: readonly (readonly [number, Act])[],
) {
  const counts = newCounts().floor;
  const talkgroup = new Talkgroup(talkgroupRow({ floor_mode: first, max_talk_ms: 5000 }));
  const said: unknown[] = [];
  const limits = { talkersMax: 3, talksPerUser: 2 };
  const bursts = { remoteIn: () => new Set<never>() };
  const authority = make({ counts, limits, bursts, onVerdicts: (_, verdicts) => said.push(...verdicts) });
  let nowMs = 1000;
  for (const [after, one] of acts) {
    nowMs += after;
    if (one.kind === 'settings') {
      talkgroup.floorMode = one.mode;
      authority.change(talkgroup, nowMs);
    } else if (one.kind === 'close') authority.close(talkgroup, nowMs);
    else if (one.kind === 'tick') for (const active of authority.active()) authority.expire(active, nowMs);
    else authority.tell(talkgroup, [one], nowMs);
    said.push({ after: one.kind, queued: authority.queued() });
  }
  return { said, counts };
}

t.test(
  'while all members are here, the shared authority answers as the local one, in the same step',
  async (t) => {
    const shared: typeof createLocalAuthority = (options) =>
      createSharedAuthority({ ...options, link: linkAlone });
    fc.assert(
      fc.property(mode, fc.array(fc.tuple(ms, act), { maxLength: 60, size: 'max' }), (first, acts) => {
        const [one, other] = [createLocalAuthority, shared].map((make) => answersOf(make, first, acts));
        if (JSON.stringify(one) !== JSON.stringify(other))
          throw new Error(`local ${JSON.stringify(one)}, shared ${JSON.stringify(other)}`);
      }),
      { numRuns: RUNS },
    );
    t.pass(`${RUNS} histories`);
  },
);

t.test('a relay gives later turns in a talkgroup that left its memory and came back', async (t) => {
  const link = { ...linkAlone, view: () => ({ home: 1, relays: [1, 2] }), want() {}, sendVerdicts() {} };
  const authority = createSharedAuthority({
    counts: newCounts().floor,
    limits: { talkersMax: 32, talksPerUser: 2 },
    bursts: { remoteIn: () => new Set<never>() },
    onVerdicts() {},
    link,
  });
  const talker = { session: 1, user: userIdOf({ user: 1 }), priority: 1, isAdmin: false, inEmergency: false };
  let nowMs = 1000;
  const turnIn = (talkgroup: Talkgroup) => {
    authority.viewed(talkgroup, nowMs);
    nowMs += 200; // no other relay tells its part
    authority.expire(talkgroup, nowMs);
    authority.tell(talkgroup, [{ kind: 'frame', claim: talker }], nowMs);
    const { count } = authority.placedOf(talkgroup, 1)?.turn ?? { count: 0 };
    authority.tell(talkgroup, [{ kind: 'release', session: 1, code: 'released' }], nowMs);
    authority.forget(talkgroup);
    return count;
  };
  const row = talkgroupRow({ floor_mode: 'single' });
  const first = turnIn(new Talkgroup(row));
  t.ok(first > 0);
  t.ok(turnIn(new Talkgroup(row)) > first);
});
