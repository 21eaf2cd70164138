// How a relay notices that another one takes a different relay for the home of a floor.
import t from 'tap';
import type { FloorMode } from '../../src/protocol/codes.js';
import { NO_TURN } from '../../src/protocol/turn.js';
import { newCounts } from '../../src/relay/figures/counts.js';
import { Talkgroup } from '../../src/relay/members/members.js';
import { createSharedAuthority } from '../../src/relay/shared-floor/authority.js';
import { linkAlone } from '../helpers/cluster/alone.js';
import { talkgroupRow } from '../helpers/relay/rows.js';

const NOW_MS = 1000;

/** Relay 1, which shares the floor with relay 2 and takes `home` for the one that decides. */
function relayWith(home: number, mode: Exclude<FloorMode, 'broadcast'> = 'single') {
  const talkgroup = new Talkgroup(talkgroupRow({ revision: 1, floor_mode: mode, max_talk_ms: 60_000 }));
  const authority = createSharedAuthority({
    counts: newCounts().floor,
    limits: { talkersMax: 32, talksPerUser: 2 },
    bursts: { remoteIn: () => new Set<never>() },
    onVerdicts() {},
    link: {
      ...linkAlone,
      view: () => ({ home, relays: [1, 2] }),
      ...{ adopt() {}, sendPart() {}, sendVerdicts() {}, want() {}, doubt() {} },
    },
  });
  authority.viewed(talkgroup, NOW_MS);
  const encryption = 'allowed' as const;
  const settings = { revision: 1, mode, maxTalkMs: 60_000, encryption, mayBeClear: true };
  const part = { settings, v: 1, top: NO_TURN, isFenced: false, claims: [] };
  return {
    part: (from: number) => authority.receivePart(talkgroup, from, part, NOW_MS),
    verdicts: (from: number) =>
      authority.receiveVerdicts(talkgroup, from, { settings, v: 1, verdicts: [] }, NOW_MS),
    differed: () => authority.counts.viewsDiffer,
  };
}

t.test(
  'a part counts that comes to a relay which is not the home, or from one without members',
  async (t) => {
    const follower = relayWith(2);
    follower.part(2);
    t.equal(follower.differed(), 1, 'relay 2 takes this one for the home');
    const home = relayWith(1);
    home.part(2);
    t.equal(home.differed(), 0);
    home.part(3);
    t.equal(home.differed(), 1);
  },
);

t.test('verdicts count that come to the home, or from a relay which is not', async (t) => {
  const follower = relayWith(2);
  follower.verdicts(2);
  t.equal(follower.differed(), 0);
  follower.verdicts(3);
  t.equal(follower.differed(), 1);
  const home = relayWith(1);
  home.verdicts(2);
  t.equal(home.differed(), 1);
});

t.test('in `open` no relay decides, so nothing counts', async (t) => {
  const relay = relayWith(2, 'open');
  relay.part(2);
  relay.verdicts(3);
  t.equal(relay.differed(), 0);
});
