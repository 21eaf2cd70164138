// Floor control with the local authority, as sessions and requests call it, over generated histories.
import fc from 'fast-check';
import t from 'tap';
import { newCounts } from '../../src/relay/figures/counts.js';
import { createLocalAuthority } from '../../src/relay/floor/authority.js';
import { Bursts } from '../../src/relay/floor/bursts.js';
import { createFloorControl } from '../../src/relay/floor/control.js';
import { createOutcomes } from '../../src/relay/floor/outcomes.js';
import { Talk } from '../../src/relay/floor/talk.js';
import { Membership, Talkgroup, User } from '../../src/relay/members/members.js';
import { noTapes } from '../helpers/relay/relay-alone.js';
import { accountRow, talkgroupRow } from '../helpers/relay/rows.js';

const LIMITS = { talkersMax: 3, talksPerUser: 2 };
const RATES = { framesPerSecond: 110, userBytesPerSecond: 65_536, userDeliveriesPerSecond: 200_000 };
const TALK_SILENCE_MS = 2000;
const RADIOS = 6;

const DEEDS = [
  'begins',
  'requests',
  'queues',
  'releases',
  'leaves',
  'loses its socket',
  'returns',
  'ends',
  'time passes',
  'mode changes',
] as const;
const deeds = fc.array(fc.tuple(fc.constantFrom(...DEEDS), fc.nat(RADIOS - 1)), { maxLength: 60 });
const modes = fc.constantFrom('open', 'single', 'broadcast' as const);

interface Said {
  readonly type: string;
  readonly ref?: number;
  readonly talker?: { readonly session: number };
}

/** Six radios of three users in one talkgroup. The first two are of an administrator. */
function talkgroupIn(mode: 'open' | 'single' | 'broadcast') {
  const talkgroup = new Talkgroup(talkgroupRow({ floor_mode: mode, max_talk_ms: 5000 }));
  const bursts = new Bursts();
  const failed: unknown[] = [];
  let nowMs = 1000;
  const memberships = Array.from({ length: RADIOS / 2 }, (_, index) => {
    const user = new User(accountRow(`user ${index}`, { role: index === 0 ? 'admin' : 'user' }));
    const membership = new Membership(user, talkgroup, '');
    talkgroup.memberships.add(membership);
    return membership;
  });
  const radios = Array.from({ length: RADIOS }, (_, index) => {
    const membership = memberships[index >> 1] as Membership;
    const said: Said[] = [];
    let burst = 0;
    const session = {
      number: index + 1,
      isLive: true,
      socket: null,
      send: (text: string) => said.push(JSON.parse(text)),
      nextBurst: () => ++burst,
      mayBeTold: () => true,
      refuse: (_code: string, _talkgroup: string | undefined, text: string) => said.push(JSON.parse(text)),
    };
    return { said, session, talk: new Talk(session, membership, RATES, nowMs) };
  });
  const counts = newCounts();
  const onVerdicts = createOutcomes({
    fanout: { event: (_feed, make) => void make(1) },
    counts,
    ...{ bursts, tapes: noTapes, unixMs: () => nowMs },
    talkOf: (number) => radios[number - 1]?.talk,
    discard() {},
    answered: () => failed.push(new Error('an answer came late')),
    failLater: (_session, error) => failed.push(error),
  });
  const authority = createLocalAuthority({ counts: counts.floor, limits: LIMITS, bursts, onVerdicts });
  const log = { error: ({ err }: { err?: unknown }) => failed.push(err) };
  const control = createFloorControl({ authority, onVerdicts, bursts, talkSilenceMs: TALK_SILENCE_MS, log });
  return {
    talkgroup,
    bursts,
    failed,
    radios,
    control,
    now: () => nowMs,
    pass(ms: number) {
      nowMs += ms;
      control.expire(nowMs);
    },
  };
}

t.test(
  'each request has one answer, claims are those of the floor, and at the end nothing is left',
  async () => {
    fc.assert(
      fc.property(modes, deeds, (mode, history) => {
        const { talkgroup, bursts, failed, radios, control, now, pass } = talkgroupIn(mode);
        let ref = 0;
        for (const [deed, index] of history) {
          const radio = radios[index];
          if (radio === undefined) continue;
          const { talk, session, said } = radio;
          said.splice(0);
          if (deed === 'begins' && session.isLive && talk.claim !== 'talks') control.begin(talk, now());
          else if ((deed === 'requests' || deed === 'queues') && session.isLive) {
            control.request(talk, { priority: 1, queue: deed === 'queues', ref: ++ref }, now());
            const answers = said.filter((one) => one.ref === ref);
            if (answers.length !== 1) throw new Error(`${answers.length} answers to a request`);
          } else if (deed === 'releases') control.release(talk, 'released', now());
          else if (deed === 'leaves') control.remove(talk, 'left', now());
          else if (deed === 'loses its socket') {
            session.isLive = false;
            control.lose(talk, false, now());
          } else if (deed === 'returns' && !session.isLive) {
            session.isLive = true;
            control.returned(talk, now());
          } else if (deed === 'ends') control.lose(talk, true, now());
          else if (deed === 'time passes') pass(700);
          else if (deed === 'mode changes') {
            talkgroup.floorMode = talkgroup.floorMode === 'open' ? 'single' : 'open';
            control.change(talkgroup, now());
          }
          const denied = said.find(({ type }) => type === 'FLOOR_DENIED');
          const other = radios[index ^ 1];
          const own = other?.talk.claim === 'talks' ? other.session.number : undefined;
          if (talkgroup.floorMode === 'open' && denied !== undefined && denied.talker?.session !== own)
            throw new Error('a denial in `open` names another burst than that of the user');
          const talking = radios.filter((one) => one.talk.claim === 'talks');
          if (talking.some((one) => !bursts.in(talkgroup).has(one.talk)))
            throw new Error('a burst is unknown');
          if (bursts.count !== talking.length) throw new Error('a burst goes on that nobody talks in');
          const queued = radios.filter((one) => one.talk.claim === 'waits').length;
          if (control.figures().queued !== queued)
            throw new Error('the queue is another one than the claims say');
          if (radios.some((one) => one.talk.claim === 'asks')) throw new Error('a question is left open');
        }
        for (const { talk } of radios) control.lose(talk, true, now());
        pass(0);
        const left = [...control.active()].length + bursts.count;
        if (left > 0) throw new Error(`${left} left`);
        if (radios.some(({ talk }) => talk.claim !== 'none' || talk.burst !== 0))
          throw new Error('a claim is left');
        if (failed.length > 0) throw failed[0];
      }),
      { numRuns: 2000 },
    );
  },
);

t.test('a verdict that throws fails its session alone, and the others are carried out', async (t) => {
  const { radios, control, now, failed, bursts, talkgroup } = talkgroupIn('single');
  const [chief, , bob, , cid] = radios;
  if (chief === undefined || bob === undefined || cid === undefined) throw new RangeError('six radios');
  control.begin(cid.talk, now());
  control.request(bob.talk, { priority: 1, queue: true, ref: 1 }, now());
  bob.session.nextBurst = () => {
    throw new Error('on purpose');
  };
  control.release(cid.talk, 'released', now());
  t.equal(failed.length, 1, 'bob was granted the floor');
  t.equal(bursts.in(talkgroup).size, 0, 'the burst before has ended all the same');
  control.lose(bob.talk, true, now());
  control.begin(chief.talk, now());
  t.equal(chief.talk.claim, 'talks', 'and the floor is free again');
});
