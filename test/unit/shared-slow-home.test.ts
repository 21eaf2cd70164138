// A floor whose home is slow: many presses on another relay, in virtual time.
import t from 'tap';
import type { UserId } from '../../src/ids.js';
import { newCounts } from '../../src/relay/figures/counts.js';
import type { Verdict } from '../../src/relay/floor/authority.js';
import { Talkgroup } from '../../src/relay/members/members.js';
import { createSharedAuthority, type SharedAuthority } from '../../src/relay/shared-floor/authority.js';
import { linkAlone } from '../helpers/cluster/alone.js';
import { createRandom, createSchedule } from '../helpers/cluster/world.js';
import { talkgroupRow } from '../helpers/relay/rows.js';

const HOME = 1;
const OTHER = 2;
const settings = {
  ...{ revision: 1, mode: 'single' as const, maxTalkMs: 60_000 },
  ...{ encryption: 'allowed' as const, mayBeClear: true },
};
const claimOf = (session: number, inEmergency = false) => ({
  ...{ session, user: `user ${session}` as UserId, priority: 1, isAdmin: false, inEmergency },
});

/** Two relays. A message between them is under way for half of `roundTripMs`. `hears` gets the verdicts of both. */
function pair(roundTripMs: number, hears: (relay: number, session: number, verdict: Verdict) => void) {
  const schedule = createSchedule();
  const now = () => 1000 + schedule.now();
  const relays = new Map<number, { authority: SharedAuthority; talkgroup: Talkgroup }>();
  const at = (id: number) => {
    const relay = relays.get(id);
    if (relay === undefined) throw new Error(`no relay ${id}`);
    return relay;
  };
  const later = (act: () => void) => schedule.in(roundTripMs / 2, act);
  for (const id of [HOME, OTHER]) {
    const talkgroup = new Talkgroup(talkgroupRow({ revision: 1, floor_mode: 'single', max_talk_ms: 60_000 }));
    const to = (relay: number) => at(relay);
    const authority = createSharedAuthority({
      counts: newCounts().floor,
      limits: { talkersMax: 32, talksPerUser: 2 },
      bursts: { remoteIn: () => new Set<never>() },
      onVerdicts(_talkgroup: Talkgroup, verdicts: readonly Verdict[]) {
        for (const verdict of verdicts)
          hears(id, 'holder' in verdict ? verdict.holder.claim.session : verdict.session, verdict);
      },
      link: {
        ...linkAlone,
        relay: id,
        view: () => ({ home: HOME, relays: [HOME, OTHER] }),
        want: (_talkgroup, relay) =>
          later(() => to(relay).authority.wanted(to(relay).talkgroup, id, { settings }, now())),
        sendPart: (_talkgroup, relay, part) =>
          later(() => to(relay).authority.receivePart(to(relay).talkgroup, id, part, now())),
        sendVerdicts: (_talkgroup, relay, verdicts) =>
          later(() => to(relay).authority.receiveVerdicts(to(relay).talkgroup, id, verdicts, now())),
      },
    });
    relays.set(id, { authority, talkgroup });
  }
  for (const { authority, talkgroup } of relays.values()) authority.viewed(talkgroup, now());
  const tick = () => {
    for (const { authority } of relays.values()) {
      for (const each of authority.repeating()) authority.repeat(each, now());
      for (const active of authority.active()) authority.expire(active, now());
    }
    schedule.in(20, tick);
  };
  tick();
  return {
    schedule,
    tell: (id: number, ...claims: Parameters<SharedAuthority['tell']>[1]) =>
      at(id).authority.tell(at(id).talkgroup, claims, now()),
  };
}

t.test('however often radios press, each is answered within a round trip of the home', async (t) => {
  for (const [roundTripMs, perSecond] of [
    [60, 100],
    [200, 30],
    [600, 10],
  ] as const) {
    const random = createRandom(1);
    const askedAtMs = new Map<number, number>();
    const answers = { started: 0, busy: 0, other: 0, slowestMs: 0 };
    const { schedule, tell } = pair(roundTripMs, (_relay, session, verdict) => {
      if (verdict.kind !== 'started' && verdict.kind !== 'denied') return;
      if (verdict.kind === 'started') {
        answers.started++;
        schedule.in(300, () => tell(OTHER, { kind: 'release', session, code: 'released' }));
      } else if (verdict.code === 'busy') answers.busy++;
      else answers.other++;
      const waitedMs = schedule.now() - (askedAtMs.get(session) ?? 0);
      answers.slowestMs = Math.max(answers.slowestMs, waitedMs);
    });
    let session = 0;
    const press = () => {
      askedAtMs.set(++session, schedule.now());
      tell(OTHER, { kind: 'frame', claim: claimOf(session) });
      schedule.in((2 * random.next() * 1000) / perSecond, press);
    };
    schedule.in(500, press);
    schedule.run(4500);
    t.equal(answers.other, 0, `no \`retry_later\` at ${roundTripMs} ms and ${perSecond} presses a second`);
    t.ok(answers.slowestMs <= roundTripMs + 20, `${answers.slowestMs} ms`);
    t.ok(answers.started > 3 && answers.busy > 20, `${answers.started} talked, ${answers.busy} were busy`);
  }
});

t.test('a burst is revoked within a round trip while others press', async (t) => {
  const heard: string[] = [];
  const { schedule, tell } = pair(200, (_relay, session, { kind }) => {
    if (session < 10) heard.push(`${session} ${kind} ${schedule.now()}`);
  });
  schedule.run(500);
  tell(OTHER, { kind: 'frame', claim: claimOf(1) });
  schedule.run(800);
  let session = 10;
  const press = () => {
    tell(OTHER, { kind: 'frame', claim: claimOf(++session) });
    schedule.in(50, press);
  };
  press();
  schedule.run(1500);
  tell(HOME, { kind: 'frame', claim: claimOf(2, true) });
  schedule.run(3000);
  t.strictSame(heard, [
    ...['1 granted 700', '1 started 700', '2 granted 1500', '2 started 1500'],
    ...['1 revoked 1600', '1 ended 1600', '1 gone 1600'],
  ]);
});
