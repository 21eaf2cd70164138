// The rank of a burst of another relay: what its relay told of it, as the relay that decides the floor sees it.
import t from 'tap';
import type { UserId } from '../../src/ids.js';
import { NO_TURN } from '../../src/protocol/turn.js';
import { newCounts } from '../../src/relay/figures/counts.js';
import type { Verdict } from '../../src/relay/floor/authority.js';
import { type Claim, preempts, priorityOf, rankOf } from '../../src/relay/floor/claim.js';
import { Talkgroup } from '../../src/relay/members/members.js';
import { createSharedAuthority } from '../../src/relay/shared-floor/authority.js';
import { Turns } from '../../src/relay/shared-floor/turns/turns.js';
import { linkAlone } from '../helpers/cluster/alone.js';
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

/** A relay that decides a floor. A talker of relay 2 plays there, and relay 2 tells no part. */
function home(far: Claim, isTold = true) {
  const talkgroup = new Talkgroup(talkgroupRow({ floor_mode: 'single' }));
  const told: Verdict[] = [];
  const bursts = { remoteIn: () => new Set<never>() };
  const turns: Turns = new Turns(
    {
      ...{ relay: 1, bursts, counts: { framesLost: 0, held: 0 } },
      begin: () => ({ frame() {}, missed() {}, end() {}, drop() {} }),
      ready: (...begun) => floors.ready(...begun),
      ...{ missed() {}, holding() {} },
    },
    { talkgroup, home: () => 1, kept: { take: () => null, end() {} } },
  );
  const floors = createSharedAuthority({
    counts: newCounts().floor,
    limits: { talkersMax: 32, talksPerUser: 2 },
    bursts,
    onVerdicts: (_talkgroup: Talkgroup, verdicts: readonly Verdict[]) => told.push(...verdicts),
    link: {
      ...linkAlone,
      view: () => ({ home: 1, relays: [1, 2] }),
      turns: () => turns,
      want() {},
    },
  });
  const asked = isTold ? { priority: far.priority, isAdmin: far.isAdmin } : null;
  const placed = { turn: { count: 1, home: 2 }, after: NO_TURN, afterCode: 'released' } as const;
  turns.started(2, { talker: talkerOf(far), claim: asked }, placed, { seq: 1, lost: 0, moves: 0 }, 0);
  return {
    rank: turns.played && rankOf(turns.played.claim),
    /** What a session of the home hears that asks for the floor. */
    answers(near: Claim): string | undefined {
      floors.tell(talkgroup, [{ kind: 'request', claim: near, queue: false }], 0);
      floors.expire(talkgroup, 100);
      turns.tick(200); // the end of what plays does not come
      return told.find((verdict) => verdict.kind === 'granted' || verdict.kind === 'denied')?.kind;
    },
  };
}

t.test('a burst of another relay has the rank of what its talker asked with', async (t) => {
  for (const over of CLAIMS) {
    const far = claim(2, 1, over);
    t.equal(home(far).rank, rankOf(far), textOf(far));
  }
  t.equal(home(claim(2, 7, { isAdmin: true, inEmergency: true })).rank, 8);
});

t.test('and keeps the floor against all that it would keep it against on one relay', async (t) => {
  for (const one of CLAIMS)
    for (const other of CLAIMS) {
      const [far, near] = [claim(2, 1, one), claim(1, 1, other)];
      const expected = preempts(near, far) ? 'granted' : 'denied';
      t.equal(home(far).answers(near), expected, `${textOf(near)} against ${textOf(far)}`);
    }
});

t.test('when its relay does not tell, only administrators come above 3', async (t) => {
  const rankOfUntold = (over: Partial<Claim>) => home(claim(2, 1, over), false).rank;
  t.equal(rankOfUntold({ priority: 3 }), 3);
  t.equal(rankOfUntold({ priority: 5, isAdmin: true }), 5);
  t.equal(rankOfUntold({ priority: 7, isAdmin: true }), 8);
  t.equal(rankOfUntold({ priority: 1, inEmergency: true }), 7);
  t.equal(rankOfUntold({ priority: 7, inEmergency: true }), 7);
});
