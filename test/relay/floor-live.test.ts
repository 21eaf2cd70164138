// Floor control of the running service: whatever several radios do on real sockets, each hears what the model says.
//
// The model is the onlooker of the unit tests, with what the relay adds to the floor: who is told what, burst and event
// numbers, whose frames go through. After every act each radio must have heard just that, in that order. The one thing
// no model knows is the moment: what is about to run out is waited for by itself, and a history in which something may
// have run out unseen, because the machine stood still, says nothing and is replaced by another.
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import t from 'tap';
import { EMERGENCY, END, START } from '../../src/protocol/frame.js';
import { eventually } from '../helpers/eventually.js';
import {
  type FloorEvent,
  type FloorMode,
  FRAME_PRIORITY,
  type Outcome,
  userIdOf,
  watchFloor,
} from '../helpers/relay/floor-onlooker.js';
import {
  type Heard,
  isUnconfirmed,
  type Json,
  type Person,
  type Radio,
  type Service,
  service,
} from '../helpers/service/service.js';
import { isDealt } from '../helpers/service/two-nodes.js';

const RUNS = isDealt ? 24 : Number(process.env.PROVE_RUNS ?? 3000) / 30;
/** Histories under way at the same time, each in a talkgroup of its own: they wait more than they work. */
const LANES = isDealt ? 4 : 50; // a connection waits until both nodes know all radios: of many lanes some always change
/** After a failure a shorter history is looked for so long. */
const SHRINK_MS = 40_000;
t.setTimeout(120_000 + RUNS * 1000);

/** Frames without START begin no burst for this time behind an END. */
const BEHIND_END_MS = 300;
/** T1, apart from every other limit. */
const SILENCE_MS = 1800;
const UNUSED_MS = 2000;
const LOST_MS = 1500;
/** What runs out so soon is waited for before anything else is done. */
const NEAR_MS = 300;
/** Two that run out so close may do so in either order. */
const APART_MS = 300;
/** Of a session in one talkgroup in 10 s, and of a user in a minute. More is another test's business. */
const BURSTS_MAX = 8;
const RAISES_MAX = 3;

/** By person and by socket: the admin and bob have two each. */
const PEOPLE = ['ann', 'bob', 'cat'];
const RADIOS = ['ann', 'ann2', 'bob', 'bob2', 'cat'];

interface Settings {
  readonly mode: FloorMode;
  readonly maxTalkMs: number;
}

type Act =
  | { act: 'asks'; radio: number; priority: number; queue: boolean }
  | { act: 'speaks'; radio: number; start: boolean; end: boolean; empty: boolean }
  | { act: keyof typeof DEEDS; radio: number }
  | { act: 'clears'; radio: number; of: number }
  | { act: 'settings'; settings: Settings }
  | { act: 'waits' };
type Asks = Act & { act: 'asks' };
type Speaks = Act & { act: 'speaks' };

const DEEDS = {
  releases: 'releases the floor',
  dies: 'loses the network',
  closes: 'closes the socket with 1000',
  returns: 'comes back',
  leaves: 'leaves the talkgroup',
  joins: 'joins the talkgroup',
  raises: 'raises an emergency',
} as const;

function inWords(act: Act): string {
  if (act.act === 'waits') return 'something runs out';
  if (act.act === 'settings') return `the floor becomes ${nameOf(act.settings)}`;
  const who = RADIOS[act.radio];
  if (act.act === 'asks')
    return `${who} asks with priority ${act.priority}${act.queue ? ' and would wait' : ''}`;
  if (act.act === 'clears') return `${who} clears the emergency of ${PEOPLE[act.of]}`;
  if (act.act !== 'speaks') return `${who} ${DEEDS[act.act]}`;
  const frame = act.end && act.empty ? 'an empty frame' : 'a frame';
  return [who, 'sends', frame, ...(act.start ? ['START'] : []), ...(act.end ? ['END'] : [])].join(' ');
}

const nameOf = ({ mode, maxTalkMs }: Settings) => `${mode}, ${maxTalkMs} ms`;

// Those that end something, and those that undo another, are rarer than those that begin something.
const settings = fc.record({
  mode: fc.constantFrom<FloorMode[]>('single', 'broadcast', 'open', 'single'),
  maxTalkMs: fc.constantFrom(60_000, 1000, 0),
});
const radio = fc.nat(RADIOS.length - 1);
const one = <A extends Act['act']>(act: A) => fc.record({ act: fc.constant(act), radio });
const act: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 14,
    arbitrary: fc.record({
      act: fc.constant('asks' as const),
      radio,
      priority: fc.oneof(fc.constant(1), fc.nat(7)),
      queue: fc.oneof({ weight: 3, arbitrary: fc.constant(true) }, fc.constant(false)),
    }),
  },
  {
    weight: 16,
    arbitrary: fc.record({
      act: fc.constant('speaks' as const),
      radio,
      start: fc.boolean(),
      end: fc.nat(3).map((die) => die === 3),
      empty: fc.boolean(),
    }),
  },
  { weight: 3, arbitrary: one('releases') },
  { weight: 5, arbitrary: one('dies') },
  { weight: 3, arbitrary: one('returns') },
  one('closes'),
  { weight: 2, arbitrary: one('leaves') },
  { weight: 4, arbitrary: one('joins') },
  { weight: 2, arbitrary: one('raises') },
  { weight: 2, arbitrary: fc.record({ act: fc.constant('clears' as const), radio, of: fc.nat(2) }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constant('settings' as const), settings }) },
  { weight: 2, arbitrary: fc.constant({ act: 'waits' as const }) },
);

interface History {
  readonly settings: Settings;
  readonly acts: readonly Act[];
}

const some = (maxLength: number) => fc.subarray([...RADIOS.keys()], { minLength: 2, maxLength });

/** Of few radios as often as of all: the fewer, the more they have to do with each other. */
const history: fc.Arbitrary<History> = fc
  .record({
    settings,
    chosen: fc.oneof(some(3), some(RADIOS.length)),
    acts: fc.array(act, { minLength: 10, maxLength: 60, size: 'max' }),
  })
  .map(({ settings, chosen, acts }) => ({
    settings,
    acts: acts.map((act) =>
      'radio' in act ? { ...act, radio: chosen[act.radio % chosen.length] ?? 0 } : act,
    ),
  }));

const [ANN, BOB] = [RADIOS.indexOf('ann'), RADIOS.indexOf('bob')];

/** How a burst of bob ends. */
const ENDS: { readonly [code: string]: Act } = {
  released: { act: 'releases', radio: BOB },
  silence: { act: 'waits' },
  too_long: { act: 'waits' },
  preempted: { act: 'asks', radio: ANN, priority: 7, queue: false },
  disconnected: { act: 'closes', radio: BOB },
  left: { act: 'leaves', radio: BOB },
  mode: { act: 'settings', settings: { mode: 'broadcast', maxTalkMs: 60_000 } },
};

/** Those that are always played, one in a lane: a hundred random ones may lack an end. */
const CERTAIN = Object.entries(ENDS).map(
  ([code, end]): History => ({
    settings: { mode: 'single', maxTalkMs: code === 'too_long' ? 1000 : 60_000 },
    acts: [
      { act: 'asks', radio: BOB, priority: 1, queue: false },
      { act: 'speaks', radio: BOB, start: true, end: false, empty: false },
      end,
    ],
  }),
);

/** A user, shared by the user's radios. */
interface Member {
  readonly person: Person;
  isMember: boolean;
  /** Id of the user's open emergency, and how many the user raised. */
  emergency: string | null;
  raises: number;
}

/** A radio that listens. */
interface Ear {
  readonly name: string;
  readonly member: Member;
  radio: Radio;
  /** `lost`: the session is kept for its return. */
  socket: 'open' | 'lost' | 'closed';
  /** So many of its arrivals were compared. */
  read: number;
  /** What it must hear next. */
  readonly due: Json[];
}

/** A radio that talks, and what the relay keeps of it beside the floor. */
interface Player extends Ear {
  /** Its number in the model. */
  readonly at: number;
  /** Number of the grant or the running burst, 0 for none, and the last one of the session. */
  burst: number;
  bursts: number;
  frames: number;
  priority: number;
  isUrgent: boolean;
  hasAsked: boolean;
  isMuted: boolean;
  /** Somewhere between these the relay had its last END (monotonic ms). */
  endedFromMs: number;
  endedByMs: number;
  /** Somewhere between these the relay had its last frame, muted it or began T1 anew at its return (monotonic ms). */
  quietFromMs: number;
  quietByMs: number;
  /** T1 began anew and no frame came since: it runs on, whatever the socket does. */
  hasReturnedSilent: boolean;
  /** In this talkgroup: how much of its rate is used up. */
  grants: number;
}

type Cast = Awaited<ReturnType<typeof gather>>;

let casts = 0;

/** A fresh talkgroup, its people with their radios, and a radio that only listens. */
async function gather(s: Service, { mode, maxTalkMs }: Settings) {
  const cast = ++casts;
  const called = (name: string) =>
    s.person(`${name} of ${cast}`, { role: name === 'ann' ? 'admin' : 'user' });
  const [listening, ...people] = await Promise.all([called('listener'), ...PEOPLE.map(called)]);
  const group = await s.talkgroupWith(
    { name: `history ${cast}`, floor_mode: mode, max_talk_ms: maxTalkMs },
    listening,
    ...people,
  );
  const memberOf = (person: Person): Member => ({ person, isMember: true, emergency: null, raises: 0 });
  const members = people.map(memberOf);
  const [listener, ...players] = await Promise.all([
    earOf('listener', memberOf(listening)),
    ...RADIOS.map((name, index) => playerOf(name, index, members[index >> 1])), // two to each, as in the model
  ]);
  return { group, members, listener, players };
}

/** A machine that stood still admits no radio for a while: another history takes the place of this one. */
async function admitted(connecting: Promise<Radio>): Promise<Radio> {
  const radio = await connecting;
  fc.pre(radio.welcome !== null || (await radio.closes()).reason !== 'overloaded');
  return radio;
}

async function earOf(name: string, member: Member): Promise<Ear> {
  return { name, member, radio: await admitted(member.person.radio()), socket: 'open', read: 1, due: [] };
}

async function playerOf(name: string, index: number, member: Member | undefined): Promise<Player> {
  assert(member);
  const nothing = { burst: 0, bursts: 0, frames: 0, priority: 0, isUrgent: false, hasAsked: false };
  return { ...(await earOf(name, member)), at: index + 1, ...nothing, ...UNHEARD };
}

/** Of a session that has not talked in the talkgroup. */
const UNHEARD = {
  ...{ isMuted: false, quietFromMs: 0, quietByMs: 0, hasReturnedSilent: false, grants: 0 },
  ...{ endedFromMs: Number.NEGATIVE_INFINITY, endedByMs: Number.NEGATIVE_INFINITY },
};

/** What the model knows of messages and frames. All else differs from run to run. */
const KNOWN = (
  'type ref event code session burst priority emergency max_talk_ms floor_mode position size frames state ' +
  'username reason resumed flags text talker talkers emergencies talkgroups'
).split(' ');

/** One line of what was heard, the same as that of what is due. */
function lineOf(message: Json, names: ReadonlyMap<number, string>): string {
  const pick = (from: Json): Json =>
    Object.fromEntries(
      KNOWN.filter((key) => from[key] !== undefined).map((key) => [key, shown(key, from[key])]),
    );
  const shown = (key: string, value: unknown): unknown => {
    if (key === 'ref') return true;
    if (key === 'session') return names.get(value as number) ?? 'a stranger';
    if (key === 'flags') return flagsOf(value as number);
    if (Array.isArray(value)) return value.map(pick);
    return typeof value === 'object' && value !== null ? pick(value as Json) : value;
  };
  return JSON.stringify(pick(message)).replaceAll('"', '');
}

const flagsOf = (flags: number) =>
  [flags & START && 'START', flags & END && 'END', flags & EMERGENCY && 'EMERGENCY']
    .filter(Boolean)
    .join('+');

/** A frame as a message. null for answers to what only this test asks, and for what one is told who is no member. */
function messageOf(arrival: Json | Heard): Json | null {
  if ('payload' in arrival) {
    const { sender, burst, flags, text } = arrival as Heard;
    return { type: 'frame', session: sender, burst, flags, text };
  }
  const { type, code, number } = arrival as Json;
  const isAside =
    type === 'PONG' ||
    type === 'SUBSCRIBED' ||
    (type === 'ERROR' && (code === 'rate_limited' || number !== undefined));
  return isAside ? null : (arrival as Json);
}

/** What will run out for this radio, unless it does something about it. */
interface Limit {
  readonly player: Player;
  readonly atMs: number;
  readonly code: 'unused' | 'silence' | 'too_long' | 'disconnected';
}

/** Something may have run out unseen. */
const inconclusive = () => fc.pre(false);

type Model = ReturnType<typeof createModel>;

/** What is true in the talkgroup, and what all must hear of it. */
function createModel({ listener, players }: Cast, { mode, maxTalkMs }: Settings, seen: Set<string>) {
  const floor = watchFloor(players.length, mode, maxTalkMs);
  const settings = { mode, maxTalkMs };
  const ears: readonly Ear[] = [listener, ...players];
  /** Of all sessions there were. */
  const names = new Map(ears.map(({ radio, name }) => [radio.session, name]));
  /** Who talks and who has an open emergency, the oldest first. */
  const talking: Player[] = [];
  const calling: Member[] = [];
  let event = 0;

  const inFloor = ({ at }: Player) => {
    const radio = floor.radios[at - 1];
    assert(radio);
    return radio;
  };
  const line = (message: Json) => lineOf(message, names);

  function tell(ear: Ear, message: Json): void {
    if (ear.socket === 'open') ear.due.push(message);
  }

  function tellAll(message: Json): void {
    for (const ear of ears) if (ear.member.isMember) tell(ear, message);
  }

  function announce(message: Json): void {
    tellAll({ ...message, event: ++event });
  }

  /** Something happens to the floor, and the relay says so. */
  function see(what: FloorEvent, nowMs: number): void {
    const asker = what.kind === 'request' ? what.claim.session : null;
    for (const outcome of floor.see(what, nowMs)) {
      const player = players[('holder' in outcome ? outcome.holder.claim.session : outcome.session) - 1];
      assert(player);
      carryOut(player, outcome, nowMs, player.at === asker || undefined);
    }
    // What is over leaves nothing behind.
    for (const player of players) if (inFloor(player).state === 'idle') forget(player);
  }

  function carryOut(player: Player, outcome: Outcome, nowMs: number, ref: true | undefined): void {
    switch (outcome.kind) {
      case 'granted':
        return grant(player, outcome.holder, ref);
      case 'started':
        talking.push(player);
        player.frames = 0;
        return announce({ type: 'TALK_STARTED', ...bodyOf(player) });
      case 'denied': {
        player.hasAsked = inFloor(player).state === 'waiting';
        mute(player, nowMs);
        const { code } = outcome;
        const [talker] = code === 'forbidden' ? [] : talking;
        return tell(player, { type: 'FLOOR_DENIED', ref, code, talker: talker && bodyOf(talker) });
      }
      case 'queued': {
        const { position, size } = outcome;
        return tell(player, { type: 'FLOOR_QUEUED', ref, position, size });
      }
      case 'revoked':
        if (outcome.code !== 'silence') mute(player, nowMs);
        else if (settings.mode === 'open') return; // TALK_ENDED says it
        return tell(player, { type: 'FLOOR_REVOKED', burst: player.burst, code: outcome.code });
      case 'ended':
        return end(player, outcome.code);
      case 'changed':
        return rise(player, outcome.holder);
    }
  }

  type Holder = (Outcome & { kind: 'granted' })['holder'];

  function grant(player: Player, holder: Holder, ref: true | undefined): void {
    if (player.burst === 0) {
      player.burst = ++player.bursts;
      player.grants++;
    }
    player.isMuted = false;
    rise(player, holder);
    if (!player.hasAsked && settings.mode === 'open') return;
    const { burst, priority } = player;
    tell(player, { type: 'FLOOR_GRANTED', ref, burst, priority, max_talk_ms: holder.talkMsMax });
  }

  function rise(player: Player, { priority, claim }: Holder): void {
    player.priority = priority;
    player.isUrgent = claim.inEmergency;
  }

  function end(player: Player, code: string): void {
    const { burst, frames, radio } = player;
    talking.splice(talking.indexOf(player), 1);
    announce({ type: 'TALK_ENDED', session: radio.session, burst, code, frames });
    forget(player);
  }

  function forget(player: Player): void {
    player.burst = 0;
    player.hasAsked = false;
  }

  function mute(player: Player, nowMs: number): void {
    player.isMuted = true;
    player.quietFromMs = nowMs;
  }

  const bodyOf = ({ radio, burst, priority, isUrgent, member }: Player) => ({
    session: radio.session,
    burst,
    priority,
    emergency: isUrgent,
    username: member.person.name,
  });

  const snapshot = () => ({
    floor_mode: settings.mode,
    max_talk_ms: settings.maxTalkMs,
    event,
    talkers: talking.map((player) => ({ ...bodyOf(player), frames: player.frames })),
    emergencies: calling.toReversed().map(({ person }) => ({ username: person.name, state: 'raised' })),
  });

  /** Everything that happened was heard by all that it concerns, in this order, and nothing else was. */
  async function compare(): Promise<void> {
    const open = ears.filter(({ socket }) => socket === 'open');
    await Promise.all(open.map(({ radio }) => radio.settled()));
    const settledMs = performance.now();
    if (limits().some(({ atMs }) => atMs <= settledMs)) inconclusive();
    for (const player of players) if (player.quietByMs < player.quietFromMs) player.quietByMs = settledMs;
    for (const ear of open) compareOne(ear);
  }

  function compareOne(ear: Ear): void {
    const { arrivals } = ear.radio;
    const messages = arrivals
      .slice(ear.read)
      .map(messageOf)
      .filter((message) => message !== null);
    ear.read = arrivals.length;
    for (const { type, code } of messages) seen.add(code === undefined ? `${type}` : `${type} ${code}`);
    const [heard, due] = [messages, ear.due.splice(0)].map((each) => each.map(line));
    assert.deepEqual({ [ear.name]: heard }, { [ear.name]: due }, 'what was heard and what was due');
  }

  /** The next comes first. */
  function limits(): Limit[] {
    const all = players.flatMap((player): (Limit | false)[] => {
      const { state, awayAtMs, grantedAtMs, startedAtMs, talkMsMax } = inFloor(player);
      const isTalking = state === 'talking';
      const isThere = awayAtMs === null;
      return [
        !isThere && state !== 'idle' && { player, code: 'disconnected', atMs: awayAtMs + LOST_MS },
        state === 'granted' && { player, code: 'unused', atMs: grantedAtMs + UNUSED_MS },
        isTalking &&
          (isThere || player.hasReturnedSilent) && {
            player,
            code: 'silence',
            atMs: player.quietFromMs + SILENCE_MS,
          },
        isTalking && talkMsMax > 0 && { player, code: 'too_long', atMs: startedAtMs + talkMsMax },
      ];
    });
    return all.filter((limit) => limit !== false).toSorted((a, b) => a.atMs - b.atMs);
  }

  return {
    floor,
    settings,
    ears,
    names,
    talking,
    calling,
    inFloor,
    line,
    tell,
    tellAll,
    announce,
    see,
    mute,
    snapshot,
    compare,
    limits,
  };
}

/**
 * The relay's own clock: when the answered function resolves, T1 has passed there, and with it whatever is shorter and
 * had begun before the call.
 */
async function createClock(s: Service, lane: number) {
  const keeper = await s.person(`clock ${lane}`);
  const { number } = await s.talkgroup(`clock ${lane}`, keeper);
  const radio = await eventually(async () => {
    const connected = await keeper.radio();
    if (connected.welcome === null) throw new Error('not admitted');
    return connected;
  });
  return async () => {
    radio.speaks(number, 'tick', { start: true });
    await radio.hears('TALK_ENDED');
  };
}

interface StageOptions {
  readonly s: Service;
  readonly cast: Cast;
  readonly model: Model;
  readonly clock: () => Promise<void>;
  /** What was done, for not all acts are possible. */
  readonly story: string[];
}

/** Does acts on the wire and in the model. */
function createStage({ s, cast, model, clock, story }: StageOptions) {
  const { group, members, listener, players } = cast;
  const { floor, ears, inFloor, tell, see, compare, limits } = model;
  let texts = 0;

  const playerAt = (index: number): Player => {
    const player = players[index];
    assert(player);
    return player;
  };

  async function play(act: Act): Promise<void> {
    if (act.act === 'waits') return wait(limits()[0]?.atMs ?? 0);
    const deed = deedOf(act);
    if (deed === null) return;
    story.push(inWords(act));
    const [next] = limits();
    // In 1/1024 ms: fine enough that no two acts are simultaneous, and the sums of it are exact.
    await deed(Math.floor(performance.now() * 1024) / 1024);
    if (next !== undefined && next.atMs <= performance.now()) inconclusive();
    await compare();
  }

  /** Lets run out what does so until then. */
  async function wait(untilMs: number): Promise<void> {
    for (;;) {
      const [next, ...others] = limits();
      if (next === undefined || next.atMs > untilMs) return;
      const [other] = others;
      if (other !== undefined && other.atMs < next.atMs + APART_MS) await avert(other);
      else if (isUnheard(next) && !mayPassUnheard(next, others)) await avert(next);
      else await runOut(next);
    }
  }

  /** Of an absent radio that no other one waits behind. */
  function isUnheard({ player }: Limit): boolean {
    const { state, awayAtMs } = inFloor(player);
    if (state === 'talking' || awayAtMs === null) return false;
    const queue = floor.waiting();
    const behind = queue.slice(queue.findIndex(({ session }) => session === player.at) + 1);
    return behind.every((one) => one.awayAtMs !== null);
  }

  /** The clock tells when it is over, if nothing else runs out until then. */
  const mayPassUnheard = ({ player, code }: Limit, others: readonly Limit[]) =>
    code === 'disconnected' &&
    others.every((one) => one.player === player || one.atMs > performance.now() + SILENCE_MS + 2 * NEAR_MS);

  async function runOut({ player, code, atMs }: Limit): Promise<void> {
    story.push(`time passes for ${player.name}: ${code}`);
    see(code === 'silence' ? { kind: 'release', session: player.at, code } : { kind: 'tick' }, atMs);
    const ear = ears.find(({ due }) => due.length > 0);
    const [news] = ear?.due ?? [];
    if (ear === undefined || news === undefined) await clock();
    else {
      await ear.radio.hears(String(news.type), (message) => model.line(message) === model.line(news));
      assert(performance.now() >= atMs, 'nothing runs out before its time');
    }
    await compare();
  }

  /** The radio does in time what it was about. */
  function avert({ player }: Limit): Promise<void> {
    const radio = players.indexOf(player);
    if (!mayReturn(player)) inconclusive();
    if (player.socket !== 'open') return play({ act: 'returns', radio });
    if (inFloor(player).state === 'granted') return play({ act: 'releases', radio });
    return play({ act: 'speaks', radio, start: false, end: true, empty: true });
  }

  type Deed = (nowMs: number) => Promise<void>;

  /** null: not possible now. */
  function deedOf(act: Exclude<Act, { act: 'waits' }>): Deed | null {
    if (act.act === 'settings') return (nowMs) => change(act.settings, nowMs);
    const player = playerAt(act.radio);
    const { socket, member } = player;
    if (act.act === 'returns') return mayReturn(player) ? (nowMs) => comeBack(player, nowMs) : null;
    if (socket !== 'open') return null;
    switch (act.act) {
      case 'asks':
        return player.burst !== 0 || player.grants < BURSTS_MAX ? (nowMs) => ask(player, act, nowMs) : null;
      case 'speaks':
        return maySpeak(player, act) ? (nowMs) => speak(player, act, nowMs) : null;
      case 'releases':
        return (nowMs) => release(player, nowMs);
      case 'dies':
        return member.isMember ? (nowMs) => die(player, nowMs) : null;
      case 'closes':
        return (nowMs) => close(player, nowMs);
      case 'leaves':
        return member.isMember ? (nowMs) => leave(member, nowMs) : null;
      case 'joins':
        return member.isMember ? null : () => join(member);
      case 'raises':
        return member.isMember && mayRaise(member) ? (nowMs) => raise(player, nowMs) : null;
      case 'clears': {
        const raiser = members[act.of];
        return raiser?.emergency ? (nowMs) => clear(player, raiser, nowMs) : null;
      }
    }
  }

  /** Not to a burst that T1 ends about now. */
  const mayReturn = (player: Player) =>
    !player.hasReturnedSilent ||
    inFloor(player).state !== 'talking' ||
    isRecent(player, performance.now() + NEAR_MS);

  /** Not while it is unknown whether T1 has lifted its mute. */
  function maySpeak(player: Player, { start }: Speaks): boolean {
    if (!start && player.burst !== 0) return true;
    if (player.grants >= BURSTS_MAX) return false;
    const nowMs = performance.now();
    return start || !player.isMuted || isLifted(player, nowMs) || isRecent(player, nowMs + NEAR_MS);
  }

  const mayRaise = ({ emergency, raises }: Member) => emergency !== null || raises < RAISES_MAX;
  const isLifted = ({ quietByMs }: Player, nowMs: number) => nowMs - quietByMs >= SILENCE_MS;
  const isRecent = ({ quietFromMs }: Player, nowMs: number) => nowMs - quietFromMs < SILENCE_MS;

  const claimOf = (player: Player, priority: number) => {
    const radio = inFloor(player);
    const { isAdmin } = radio;
    return {
      session: player.at,
      user: userIdOf(radio),
      priority,
      isAdmin,
      inEmergency: floor.isUrgent(radio),
    };
  };

  async function ask(player: Player, { priority, queue }: Asks, nowMs: number): Promise<void> {
    await player.radio.asks({ type: 'FLOOR_REQUEST', talkgroup_id: group.id, priority, queue });
    if (!player.member.isMember) return tell(player, { type: 'FLOOR_DENIED', ref: true, code: 'not_member' });
    player.hasAsked = true;
    player.isMuted = false;
    see({ kind: 'request', claim: claimOf(player, priority), queue }, nowMs);
  }

  async function speak(player: Player, { start, end, empty }: Speaks, nowMs: number): Promise<void> {
    const { radio, member } = player;
    const text = end && empty ? '' : `${player.name} ${++texts}`;
    radio.speaks(group.number, text, { start, end });
    await radio.settled();
    if (!member.isMember) return;
    const isFirst = start || inFloor(player).state !== 'talking';
    if (isFirst && !begin(player, { start, isOver: end && empty }, nowMs)) return;
    player.frames++;
    player.quietFromMs = nowMs;
    player.hasReturnedSilent = false;
    const flags = (isFirst ? START : 0) | (end ? END : 0) | (player.isUrgent ? EMERGENCY : 0);
    const frame = { type: 'frame', session: radio.session, burst: player.burst, flags, text };
    for (const ear of ears) if (ear !== player && ear.member.isMember) tell(ear, frame);
    if (!end) return;
    giveUp(player, nowMs);
    Object.assign(player, { endedFromMs: nowMs, endedByMs: performance.now() });
  }

  /** false: with this frame no burst begins, so it is not heard. */
  function begin(
    player: Player,
    { start, isOver }: { start: boolean; isOver: boolean },
    nowMs: number,
  ): boolean {
    const isTalking = inFloor(player).state === 'talking';
    if (isOver && !isTalking) {
      if (player.burst !== 0) giveUp(player, nowMs);
      return false;
    }
    if (!start && inFloor(player).state === 'idle' && nowMs - player.endedByMs < BEHIND_END_MS) {
      if (performance.now() - player.endedFromMs >= BEHIND_END_MS) inconclusive();
      return false;
    }
    if (player.isMuted && !start && !isLifted(player, nowMs)) {
      if (!isRecent(player, performance.now())) inconclusive();
      player.quietFromMs = nowMs;
      return false;
    }
    player.isMuted = false;
    player.quietFromMs = nowMs;
    if (isTalking) giveUp(player, nowMs);
    see({ kind: 'frame', claim: claimOf(player, FRAME_PRIORITY) }, nowMs);
    return inFloor(player).state === 'talking';
  }

  const giveUp = ({ at }: Player, nowMs: number) =>
    see({ kind: 'release', session: at, code: 'released' }, nowMs);

  async function release(player: Player, nowMs: number): Promise<void> {
    await player.radio.asks({ type: 'FLOOR_RELEASE', talkgroup_id: group.id });
    if (inFloor(player).state === 'idle')
      return tell(player, { type: 'ERROR', ref: true, code: 'not_holder' });
    giveUp(player, nowMs);
    model.mute(player, nowMs);
    tell(player, { type: 'OK', ref: true });
  }

  /** The relay has noticed when it counts one less. */
  async function die(player: Player, nowMs: number): Promise<void> {
    player.radio.socket.terminate();
    player.socket = 'lost';
    const left = ears.filter(({ socket, member }) => socket === 'open' && member.isMember).length;
    for (let online = Number.NaN; online !== left; ) {
      listener.radio.says({ type: 'SUBSCRIBE', talkgroup_ids: [group.id] });
      const { talkgroups } = await listener.radio.hears('SUBSCRIBED');
      online = Number((talkgroups as Json[])[0]?.online);
      // Nodes tell each other their numbers every 250 ms, and a session may not ask as often as it can until then.
      if (isDealt && online !== left) await delay(20);
    }
    see({ kind: 'lost', session: player.at, forGood: false }, nowMs);
  }

  async function close(player: Player, nowMs: number): Promise<void> {
    player.radio.socket.close(1000);
    await player.radio.closes();
    player.socket = 'closed';
    see({ kind: 'lost', session: player.at, forGood: true }, nowMs);
  }

  /** Also while the old socket lives. With a new session when the old one was over. */
  async function comeBack(player: Player, nowMs: number): Promise<void> {
    const { radio: old, socket, member } = player;
    const resumed = socket !== 'closed';
    player.radio = await admitted(resumed ? member.person.resumes(old) : member.person.radio());
    assert(player.radio.welcome, 'it is let in');
    if (socket === 'open') assert.deepEqual(await old.closes(), { code: 1000, reason: 'resumed' });
    if (!resumed) Object.assign(player, UNHEARD, { bursts: 0 });
    const { session } = player.radio;
    assert.equal(session === old.session, resumed, 'only who resumes keeps his number');
    model.names.set(session, player.name);
    player.socket = 'open';
    player.read = 0;
    const talkgroups = member.isMember ? [model.snapshot()] : [];
    tell(player, { type: 'WELCOME', session, resumed, username: member.person.name, talkgroups });
    if (!resumed) return;
    // T1 begins anew, once.
    if (inFloor(player).state === 'talking' && !player.hasReturnedSilent)
      Object.assign(player, { quietFromMs: nowMs, hasReturnedSilent: true });
    see({ kind: 'returned', session: player.at }, nowMs);
  }

  /** Those with a session, the oldest first. */
  const radiosOf = (member: Member) =>
    players
      .filter((player) => player.member === member && player.socket !== 'closed')
      .toSorted((a, b) => a.radio.session - b.radio.session);

  async function leave(member: Member, nowMs: number): Promise<void> {
    const left = await member.person.call('DELETE', `/talkgroups/${group.id}/leave`);
    assert(left.status === 200 || isUnconfirmed(left), `leave: ${left.status}`);
    for (const { socket, radio } of radiosOf(member))
      if (socket === 'open') await radio.hears('TALKGROUP_LEFT');
    member.isMember = false;
    for (const player of radiosOf(member)) {
      see({ kind: 'removed', session: player.at, code: 'left' }, nowMs);
      Object.assign(player, UNHEARD);
      tell(player, { type: 'TALKGROUP_LEFT', reason: 'left' });
    }
  }

  async function join(member: Member): Promise<void> {
    await member.person.post(`/talkgroups/${group.id}/join`);
    member.isMember = true;
    // Another node follows later than the answer.
    if (isDealt)
      for (const { socket, radio } of radiosOf(member))
        if (socket === 'open') await radio.hears('TALKGROUP_JOINED');
    for (const player of radiosOf(member)) tell(player, { type: 'TALKGROUP_JOINED', ...model.snapshot() });
  }

  async function change(to: Settings, nowMs: number): Promise<void> {
    const { mode: floor_mode, maxTalkMs: max_talk_ms } = to;
    await s.admin.patch(`/talkgroups/${group.id}`, { floor_mode, max_talk_ms });
    if (nameOf(to) === nameOf(model.settings)) return;
    Object.assign(model.settings, to);
    model.tellAll({ type: 'TALKGROUP_CHANGED', floor_mode, max_talk_ms });
    see({ kind: 'settings', ...to }, nowMs);
  }

  async function raise(player: Player, nowMs: number): Promise<void> {
    const { member, radio } = player;
    const { emergency_id } = await radio.asks({ type: 'EMERGENCY_RAISE', talkgroup_id: group.id });
    if (member.emergency === null) {
      member.raises++;
      member.emergency = String(emergency_id);
      model.calling.push(member);
      callForHelp(member, true, nowMs);
    }
    assert.equal(emergency_id, member.emergency, 'one open emergency each');
    tell(player, { type: 'OK', ref: true });
  }

  async function clear(player: Player, raiser: Member, nowMs: number): Promise<void> {
    await player.radio.asks({ type: 'EMERGENCY_CLEAR', emergency_id: raiser.emergency });
    if (player.member !== raiser && !inFloor(player).isAdmin)
      return tell(player, { type: 'ERROR', ref: true, code: 'forbidden' });
    raiser.emergency = null;
    model.calling.splice(model.calling.indexOf(raiser), 1);
    callForHelp(raiser, false, nowMs);
    tell(player, { type: 'OK', ref: true });
  }

  function callForHelp(member: Member, inEmergency: boolean, nowMs: number): void {
    const state = inEmergency ? 'raised' : 'cleared';
    model.announce({ type: 'EMERGENCY', username: member.person.name, state });
    const own = players.filter((player) => player.member === member);
    see({ kind: 'emergency', sessions: new Set(own.map(({ at }) => at)), inEmergency }, nowMs);
  }

  return {
    async follow(acts: readonly Act[]): Promise<void> {
      for (const act of acts) {
        await wait(performance.now() + NEAR_MS);
        // Else many would stay away.
        const isBack = act.act === 'asks' && playerAt(act.radio).socket !== 'open';
        await play(isBack ? { act: 'returns', radio: act.radio } : act);
      }
    },
  };
}

/** The machine stood still: another history takes the place of this one. */
function unlessBusy(error: unknown): never {
  fc.pre(!/: 503\b/.test(String(error)));
  throw error;
}

/** A history that went wrong. */
interface Failure {
  readonly lane: number;
  /** A shorter one is looked for until then, in the same lane. */
  readonly untilMs: number;
  readonly story: readonly string[];
  readonly error: Error;
}

t.test(`${RUNS} histories: what a radio hears is what the model says`, async (t) => {
  const s = await service(t, {
    TALK_SILENCE_MS: String(SILENCE_MS),
    TEXTS_PER_SECOND: '1000', // every act is settled by a question to each radio
    ...(isDealt && { DATABASE_POOL: '8' }), // each change is read by both nodes
    BACKLOG_MS: '60000', // no radio here is slow, whatever the machine does
  });
  const seen = new Set<string>();
  let failure = null as Failure | null;

  async function live({ settings, acts }: History, lane: number, clock: () => Promise<void>): Promise<void> {
    if (failure !== null && (lane !== failure.lane || performance.now() > failure.untilMs)) return;
    const story = [`the floor is ${nameOf(settings)}`];
    const cast = await gather(s, settings).catch(unlessBusy);
    const model = createModel(cast, settings, seen);
    try {
      await createStage({ s, cast, model, clock, story }).follow(acts).catch(unlessBusy);
    } catch (error) {
      if (!(error instanceof Error) || fc.PreconditionFailure.isFailure(error)) throw error;
      failure = { lane, untilMs: failure?.untilMs ?? performance.now() + SHRINK_MS, story, error };
      throw error;
    } finally {
      for (const { radio } of [cast.listener, ...cast.players]) radio.socket.close(1000);
    }
  }

  async function inLane(lane: number): Promise<unknown> {
    const clock = await createClock(s, lane);
    const alone = fc.asyncProperty(history, (one) => live(one, lane, clock));
    const one = CERTAIN[lane];
    // Twice, for a machine that stands still in the first.
    const examples: [History][] = one === undefined ? [] : [[one], [one]];
    const { errorInstance } = await fc.check(alone, { numRuns: RUNS / LANES, examples });
    return errorInstance;
  }

  const errors = await Promise.all(Array.from({ length: LANES }, (_, lane) => inLane(lane)));
  if (failure !== null)
    return void t.fail('a history the model does not know', {
      story: failure.story,
      what: failure.error.message,
    });
  t.same(errors.filter(Boolean), [], 'as many were played as there should be');
  if (isDealt) return; // these are few
  // Histories that never get there prove nothing.
  for (const code of Object.keys(ENDS)) t.ok(seen.has(`TALK_ENDED ${code}`), `a burst ended: ${code}`);
  for (const code of ['busy', 'forbidden', 'not_member'])
    t.ok(seen.has(`FLOOR_DENIED ${code}`), `a request was denied: ${code}`);
  for (const what of ['FLOOR_QUEUED', 'FLOOR_REVOKED unused', 'EMERGENCY', 'TALKGROUP_JOINED'])
    t.ok(seen.has(what), `${what} was heard`);
});
