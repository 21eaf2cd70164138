// Radios doing anything at any time: whatever an onlooker hears of it must make sense.
import fc from 'fast-check';
import t, { type Test } from 'tap';
import { START } from '../../src/protocol/frame.js';
import {
  type Heard,
  isUnderLoad,
  type Json,
  type Radio,
  type Service,
  service,
} from '../helpers/service/service.js';

const RUNS = Number(process.env.PROVE_RUNS ?? 3000) / 100;
t.setTimeout(60_000 + RUNS * 2000);

/** Besides the onlooker. */
const RADIOS = 4;

type FloorMode = 'open' | 'single' | 'broadcast';
const floor_mode = fc.constantFrom<FloorMode[]>('open', 'single', 'broadcast');
const radio = fc.nat(RADIOS - 1);
/** One of these, by the radio of that index. */
const deedOf = <const Kind extends string>(...kinds: Kind[]) =>
  fc.record({ kind: fc.constantFrom(...kinds), radio });

const deed = fc.oneof(
  { weight: 6, arbitrary: deedOf('start', 'frame', 'end') },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('request' as const),
      radio,
      priority: fc.nat(7),
      queue: fc.boolean(),
    }),
  },
  { weight: 4, arbitrary: deedOf('release', 'sync', 'raise', 'clear') },
  { weight: 4, arbitrary: deedOf('leave', 'join', 'die', 'return') },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('subscribe' as const),
      radio,
      mode: fc.constantFrom('talk', 'listen', 'events'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('change' as const), radio, floor_mode }) },
);
type Deed = typeof deed extends fc.Arbitrary<infer T> ? T : never;

t.test(`in ${RUNS} storms an onlooker can follow who talks, and every question has one answer`, async (t) => {
  const s = await service(t, { TALK_SILENCE_MS: '60000' });
  const storm = fc.record({ floor_mode, deeds: fc.array(deed, { minLength: 10, maxLength: 40 }) });
  let storms = 0;
  await fc.assert(
    fc.asyncProperty(storm, async ({ floor_mode, deeds }) => {
      const scene = await setUp(t, s, { name: `storm ${++storms}`, floor_mode });
      for (const deed of deeds) await scene.plays(deed);
      const snapshot = await scene.ends();
      follow(scene.onlooker, { floor_mode, snapshot });
    }),
    { numRuns: RUNS, endOnFailure: true },
  );
  t.pass();
});

async function setUp(t: Test, s: Service, settings: { name: string; floor_mode: FloorMode }) {
  const group = await s.crew(t, RADIOS + 1, { ...settings, admins: 1 });
  const talkgroup_id = group.id;
  const onlooker = group.radios[RADIOS] as Radio;
  const radios: Radio[] = group.radios.slice(0, RADIOS);
  const ever = [...radios];
  /** The last emergency each has raised. */
  const raised = new Map<number, unknown>();
  const answers: Promise<unknown>[] = [];

  const isOpen = ({ socket }: Radio) => socket.readyState === socket.OPEN;
  function ask(radio: Radio, message: Json): void {
    if (!isOpen(radio)) return;
    const answer = radio.asks(message).catch((error) => {
      if (!/^closed instead/.test(error.message)) throw error; // who dies hears no answer
    });
    answers.push(answer);
  }

  async function plays(deed: Deed): Promise<unknown> {
    const radio = radios[deed.radio] as Radio;
    const person = group.people[deed.radio] as (typeof group.people)[0];
    switch (deed.kind) {
      case 'start':
      case 'frame':
      case 'end': {
        const flags = { start: deed.kind === 'start', end: deed.kind === 'end' };
        return isOpen(radio) && radio.speaks(group.number, `of ${deed.radio}`, flags);
      }
      case 'request': {
        const { priority, queue } = deed;
        return ask(radio, { type: 'FLOOR_REQUEST', talkgroup_id, priority, queue });
      }
      case 'release':
        return ask(radio, { type: 'FLOOR_RELEASE', talkgroup_id });
      case 'sync':
        return ask(radio, { type: 'SYNC', talkgroup_id });
      case 'raise': {
        const answer = isOpen(radio) && (await radio.asks({ type: 'EMERGENCY_RAISE', talkgroup_id }));
        return answer && raised.set(deed.radio, answer.emergency_id);
      }
      case 'clear':
        return ask(radio, { type: 'EMERGENCY_CLEAR', emergency_id: `${raised.get(deed.radio)}` });
      case 'leave':
        return person.delete(`/talkgroups/${talkgroup_id}/leave`);
      case 'join':
        return person.post(`/talkgroups/${talkgroup_id}/join`);
      case 'die':
        return radio.socket.terminate();
      case 'return':
        radios[deed.radio] = await person.resumes(radio);
        return ever.push(radios[deed.radio] as Radio);
      case 'subscribe':
        return ask(radio, { type: 'SUBSCRIBE', talkgroup_ids: [talkgroup_id], mode: deed.mode });
      case 'change':
        return s.admin.patch(`/talkgroups/${talkgroup_id}`, { floor_mode: deed.floor_mode });
    }
  }

  /** All is handled and answered, each question once. What the onlooker is shown then. */
  async function ends(): Promise<Json> {
    for (const radio of radios.filter(isOpen)) await radio.settled();
    await onlooker.settled();
    await Promise.all(answers);
    for (const { arrivals } of ever) {
      const refs = arrivals.flatMap((one) => ('ref' in one ? [one.ref] : []));
      if (new Set(refs).size < refs.length) throw new Error('a question was answered twice');
    }
    const snapshot = await onlooker.asks({ type: 'SYNC', talkgroup_id });
    for (const { socket } of [...ever, onlooker]) socket.terminate();
    return snapshot;
  }

  return { onlooker, plays, ends };
}

/** Codes of bursts that were not revoked. Of all others the relay discards what waits under load. */
const HEARD_OUT: readonly string[] = ['released', 'silence', 'disconnected'];

/** Throws where what was heard, in its order, makes no sense, or is not what is shown in the end. */
function follow(
  { arrivals }: Radio,
  { floor_mode, snapshot }: { floor_mode: FloorMode; snapshot: Json },
): void {
  /** Frames heard so far, of each burst that runs. */
  const running = new Map<string, number>();
  const over = new Set<string>();
  let mode: unknown = floor_mode;
  let events = 0;

  function hear({ sender, burst, flags }: Heard): void {
    const name = `${sender}/${burst}`;
    const frames = running.get(name);
    if (frames === undefined) throw new Error(`a frame of ${name}, which does not run`);
    if (((flags & START) !== 0) !== (frames === 0))
      throw new Error(`${name}: frame ${frames}, flags ${flags}`);
    running.set(name, frames + 1);
  }

  function read({ type, event, session, burst, frames, code, floor_mode }: Json): void {
    const name = `${session}/${burst}`;
    if (event !== undefined && event !== ++events) throw new Error(`event ${event} instead of ${events}`);
    if (type === 'TALKGROUP_CHANGED') mode = floor_mode;
    if (type === 'TALK_STARTED') {
      if (running.has(name) || over.has(name)) throw new Error(`${name} began twice`);
      if (mode !== 'open' && running.size > 0) throw new Error(`${name} beside another in ${mode}`);
      running.set(name, 0);
    }
    if (type === 'TALK_ENDED') {
      const heard = running.get(name) ?? 0;
      const mayLackSome = isUnderLoad && !HEARD_OUT.includes(String(code)) && heard < Number(frames);
      if (heard !== frames && !mayLackSome) throw new Error(`${name}: heard ${heard} of ${frames} frames`);
      running.delete(name);
      over.add(name);
    }
  }

  for (const arrival of arrivals) {
    if ('payload' in arrival) hear(arrival as Heard);
    else if ((arrival as Json).type !== 'SYNCED') read(arrival as Json);
  }
  const shown = (snapshot.talkers as Json[]).map(({ session, burst }) => `${session}/${burst}`);
  if (`${shown.sort()}` !== `${[...running.keys()].sort()}`)
    throw new Error(`${shown} is shown, ${[...running.keys()]} is heard`);
  if (snapshot.event !== events) throw new Error(`shown at ${snapshot.event}, heard up to ${events}`);
}
