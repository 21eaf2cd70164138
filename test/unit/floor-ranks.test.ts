// The rank of a burst of another relay: what its relay told of it, as the relay that decides the floor sees it.
import t, { type Test } from 'tap';
import type { UserId } from '../../src/ids.js';
import { newCounts } from '../../src/relay/figures/counts.js';
import type { Verdict } from '../../src/relay/floor/authority.js';
import { createLocalAuthority } from '../../src/relay/floor/authority.js';
import { type Claim, preempts, priorityOf, rankOf } from '../../src/relay/floor/claim.js';
import { createFloors, type FloorsJoining } from '../../src/relay/hub/floors.js';
import { Talkgroup } from '../../src/relay/members/members.js';
import { clockAt } from '../helpers/relay/clocks.js';
import { talkgroupRow } from '../helpers/relay/rows.js';

const claim = (session: number, priority: number, over: Partial<Claim> = {}): Claim => ({
  ...{ session, priority, user: `user ${session}` as UserId, isAdmin: false, inEmergency: false },
  ...over,
});
const CLAIMS: readonly Partial<Claim>[] = [
  ...[1, 3, 5, 7].flatMap((priority) => [{ priority }, { priority, isAdmin: true }]),
  { priority: 1, inEmergency: true },
  { priority: 7, inEmergency: true },
  { priority: 7, inEmergency: true, isAdmin: true },
];
const textOf = ({ priority, isAdmin, inEmergency }: Claim) =>
  `${priority}${isAdmin ? ' of an administrator' : ''}${inEmergency ? ' in an emergency' : ''}`;

/** What all relays are told of a burst with this claim. */
const talkerOf = (asked: Claim) => ({
  ...{ talkgroup_id: 'fire', session: asked.session, burst: 1, user_id: asked.user, username: 'ann' },
  ...{ priority: priorityOf(asked), emergency: asked.inEmergency, started_at: '', frames: 0, sequence: 0 },
});

/** A relay that decides a floor. Relay 2 has a talker there, and tells no part. */
function home(t: Test, far: Claim, isTold = true) {
  const talkgroup = new Talkgroup(talkgroupRow({ floor_mode: 'single' }));
  const told: Verdict[] = [];
  const floors = createFloors({
    authorityOf: createLocalAuthority,
    fanout: { tell() {} },
    clock: clockAt(() => 0),
    log: { error() {} },
    counts: newCounts().floor,
    limits: { talkersMax: 32, talksPerUser: 2 },
    bursts: { remoteIn: () => new Set<never>() },
    onVerdicts: (_talkgroup: Talkgroup, verdicts: readonly Verdict[]) => told.push(...verdicts),
  } as unknown as Parameters<typeof createFloors>[0]);
  const asked = isTold ? { priority: far.priority, isAdmin: far.isAdmin } : null;
  const turn = { count: 1, home: 2 };
  const remote = { relay: 2, talker: talkerOf(far), claim: asked, turn, startedAtMs: 0 };
  const order = { top: turn, seen: turn, isPast: () => false, withdraw() {}, interrupt() {} };
  const turns = { order, remote, grant: () => 'ready' };
  const cluster = { streamOf: () => ({ home: 1, relays: [2], turns }), tellFloor() {}, play: () => false };
  const stage = floors.join({ relay: 1, cluster: () => cluster, settled() {} } as unknown as FloorsJoining);
  t.after(() => floors.close());
  return {
    rank: stage.rankOf(talkgroup, talkerOf(far), asked),
    /** What a session of the home hears that asks for the floor. */
    answers(near: Claim): string | undefined {
      floors.authority.tell(talkgroup, [{ kind: 'request', claim: near, queue: false }], 0);
      floors.authority.expire(talkgroup, 100);
      return told.find((verdict) => verdict.kind === 'granted' || verdict.kind === 'denied')?.kind;
    },
  };
}

t.test('a burst of another relay has the rank of what its talker asked with', async (t) => {
  for (const over of CLAIMS) {
    const far = claim(2, 1, over);
    t.equal(home(t, far).rank, rankOf(far), textOf(far));
  }
  t.equal(home(t, claim(2, 7, { isAdmin: true, inEmergency: true })).rank, 8);
});

t.test('and keeps the floor against all that it would keep it against on one relay', async (t) => {
  for (const one of CLAIMS)
    for (const other of CLAIMS) {
      const [far, near] = [claim(2, 1, one), claim(1, 1, other)];
      const expected = preempts(near, far) ? 'granted' : 'denied';
      t.equal(home(t, far).answers(near), expected, `${textOf(near)} against ${textOf(far)}`);
    }
});

t.test('when its relay does not tell, only administrators come above 3', async (t) => {
  const rankOfUntold = (over: Partial<Claim>) => home(t, claim(2, 1, over), false).rank;
  t.equal(rankOfUntold({ priority: 3 }), 3);
  t.equal(rankOfUntold({ priority: 5, isAdmin: true }), 5);
  t.equal(rankOfUntold({ priority: 7, isAdmin: true }), 8);
  t.equal(rankOfUntold({ priority: 1, inEmergency: true }), 7);
  t.equal(rankOfUntold({ priority: 7, inEmergency: true }), 7);
});
