// How a home asks other relays for their parts of the floors that it decides.
import t from 'tap';
import type { UserId } from '../../src/ids.js';
import { newCounts } from '../../src/relay/figures/counts.js';
import { Talkgroup } from '../../src/relay/members/members.js';
import { createSharedAuthority } from '../../src/relay/shared-floor/authority.js';
import { linkAlone } from '../helpers/cluster/alone.js';
import { talkgroupRow } from '../helpers/relay/rows.js';

/** Relay 1, the home of so many talkgroups that relay 2 shares. It answers nothing. */
function home(count: number) {
  const talkgroups = Array.from(
    { length: count },
    () => new Talkgroup(talkgroupRow({ floor_mode: 'single', max_talk_ms: 60_000 })),
  );
  const asked: Talkgroup[] = [];
  let nowMs = 1000;
  const authority = createSharedAuthority({
    counts: newCounts().floor,
    limits: { talkersMax: 32, talksPerUser: 2 },
    bursts: { remoteIn: () => new Set<never>() },
    onVerdicts() {},
    link: {
      ...linkAlone,
      view: () => ({ home: 1, relays: [1, 2] }),
      sendVerdicts() {},
      want: (talkgroup) => asked.push(talkgroup),
    },
  });
  for (const talkgroup of talkgroups) authority.viewed(talkgroup, nowMs);
  return {
    ...{ authority, talkgroups },
    asked: () => asked.splice(0),
    /** Each 20 ms. The answer is what was asked for in each of them. */
    pass: (ms: number) =>
      Array.from({ length: ms / 20 }, () => {
        nowMs += 20;
        for (const each of authority.repeating()) authority.repeat(each, nowMs);
        return asked.splice(0);
      }),
    press(talkgroup: Talkgroup) {
      const claim = { session: 7, user: 'user 7' as UserId, priority: 1, isAdmin: false, inEmergency: false };
      authority.tell(talkgroup, [{ kind: 'request', claim, queue: false }], nowMs);
    },
  };
}

t.test('when a relay comes, the parts of idle floors are asked for a few at a time', async (t) => {
  const { talkgroups, asked, pass } = home(1000);
  const first = asked();
  t.equal(first.length, 50);
  const rounds = pass(2000);
  t.ok(
    rounds.every((round) => round.length <= 50),
    'at most 50 in 20 ms',
  );
  t.equal(new Set([first, ...rounds].flat()).size, talkgroups.length, 'all are asked for');
});

t.test('the part of a floor that a session asks for does not wait for the others', async (t) => {
  const { talkgroups, asked, press, pass } = home(1000);
  asked();
  const last = talkgroups.at(-1) as Talkgroup;
  press(last);
  const [next] = pass(20);
  t.ok(next?.includes(last));
});

t.test('a relay that does not answer is asked less and less often', async (t) => {
  const { talkgroups, asked, press, pass } = home(1);
  t.equal(asked().length, 1);
  const times = () => pass(6000).flatMap((round, at) => round.map(() => (at + 1) * 20));
  t.strictSame(times(), [1000, 2000, 3000, 4000, 5000, 6000], 'while nobody uses the floor');
  const used = home(1);
  used.asked();
  used.press(used.talkgroups[0] as Talkgroup);
  const of = used.pass(4000).flatMap((round, at) => round.map(() => (at + 1) * 20));
  t.strictSame(of, [40, 80, 120, 200, 360, 680, 1320, 2320, 3320]);
  press(talkgroups[0] as Talkgroup);
  t.equal(pass(20)[0]?.length, 0);
});
