// Plays histories of relays that share a floor, in virtual time. A seed replays.
import { createDirectory, userIdOf } from './directory.js';
import { type Fault, plant } from './faults.js';
import { inside } from './inside.js';
import { Judge, type Trace } from './judge.js';
import { Node } from './node.js';
import { Radio } from './radio.js';
import { ACTING_MS, FIRST_MS, type RelayScript, type Script, type Step, scriptOf } from './script.js';
import { createNetwork, createRandom, createSchedule } from './world.js';

export interface Played {
  /** What happened, and how often. */
  readonly seen: ReadonlyMap<string, number>;
}

/** The relays reach each other before radios connect (virtual ms). */
const REACHED_MS = 300;
const LOOK_MS = 50;
const CALM_MS = 3000;
/** A relay reads a change of settings within this time (ms), and any other one. */
const SETTINGS_MS_MAX = 250;
const NOTICE_MS_MAX = 60;

/** Rejects with the first violation. */
export const playHistory = (seed: number, fault: Fault | null = null, trace: Trace = null): Promise<Played> =>
  playScript(scriptOf(seed), fault, trace);

let isPlaying = false;

/** One at a time: faults, and what the judge sees inside relays, are those of the process. */
export async function playScript(
  script: Script,
  fault: Fault | null = null,
  trace: Trace = null,
): Promise<Played> {
  if (isPlaying) throw new Error('another history is being played');
  isPlaying = true;
  const takeOut = plant(fault);
  try {
    return await play(script, trace);
  } finally {
    takeOut();
    isPlaying = false;
  }
}

async function play(script: Script, trace: Trace): Promise<Played> {
  const random = createRandom(script.seed ^ 0x2545f491);
  const schedule = createSchedule();
  const network = createNetwork(schedule, random);
  inside.begin(schedule.now);
  const judge = new Judge(schedule, network, trace);
  let lastSession = 0;
  /** As the script counts them. */
  const nodes: Node[] = [];
  const radios: Radio[] = [];
  const directory = createDirectory({ mode: script.mode, maxTalkMs: 4000 }, (notice) => {
    const msMax = notice.kind === 'talkgroup_changed' ? SETTINGS_MS_MAX : NOTICE_MS_MAX;
    for (const node of running())
      schedule.in(random.between(0, msMax), () => node.whenRunning(() => void node.relay.noticed(notice)));
  });
  const running = () => nodes.filter(({ isDead }) => !isDead);
  const here = () => radios.filter(isHere);
  const isHere = ({ relay, number }: Radio) =>
    !relay.isDead && !network.isStopped(relay.id) && relay.sessions.has(number);

  function newNode({ id, origin, rate }: RelayScript): Node {
    const takeNumber = () => ++lastSession;
    const node = new Node(id, { schedule, network, judge, directory, random, takeNumber, origin, rate });
    nodes.push(node);
    judge.relays.set(id, node);
    return node;
  }

  function seat(node: Node | undefined, user: number): void {
    if (node === undefined) throw new Error('a radio without a relay');
    const radio = new Radio(node, user);
    radios.push(radio);
    node.whenRunning(() => radio.connect());
  }

  function perform(step: Step): void {
    trace?.(`${Math.round(step.atMs)} ${JSON.stringify(step)}`);
    if ('radio' in step) {
      const radio = radios[step.radio];
      if (radio !== undefined && isHere(radio)) act(radio, step);
    } else disturb(step);
  }

  function act(radio: Radio, step: Extract<Step, { readonly radio: number }>): void {
    const { claim } = radio;
    switch (step.is) {
      case 'press':
        return radio.press();
      case 'end':
        if (claim === 'talks') radio.release();
        return;
      case 'use':
        if (claim === 'has') radio.press();
        return;
      case 'request':
        return radio.request(step.priority, step.queue);
      case 'silent':
        radio.isSpeaking = false;
        return;
      case 'back':
        return radio.connect();
      case 'leave':
        radio.end();
        judge.left(radio);
        return;
      default:
        return radio[step.is]();
    }
  }

  function disturb(step: Exclude<Step, { readonly radio: number }>): void {
    const idOf = (relay: number) => nodes[relay]?.id ?? 0;
    switch (step.is) {
      case 'remove':
      case 'join':
        directory[step.is](userIdOf(step.user));
        judge.changedAtMs = schedule.now();
        return;
      case 'come':
        return seat(nodes[step.relay], step.user);
      case 'mode':
        directory.setSettings(step);
        return judge.settingsChange(SETTINGS_MS_MAX);
      case 'cut':
        for (const to of step.to) network.cut(idOf(step.from), idOf(to));
        return;
      case 'mend':
        return network.mend();
      case 'stop':
        return nodes[step.relay]?.stop();
      case 'go':
        return network.go(idOf(step.relay));
      case 'kill':
        return nodes[step.relay]?.kill();
      case 'start': {
        const node = newNode(step.relay);
        for (const user of step.relay.users) seat(node, user);
      }
    }
  }

  async function calm(): Promise<void> {
    network.mend();
    network.lose(0);
    for (const node of running()) network.go(node.id);
    await schedule.pass(schedule.now() + 3100); // those that were killed are back
    for (const radio of here()) radio.connect();
    judge.membersChanged();
    await schedule.pass(schedule.now() + CALM_MS);
    // The floor may change hands at the very moment.
    if (judge.endsWith() !== null) await schedule.pass(schedule.now() + 300);
    judge.checkEnd();
    for (let round = 0; round < 16; round++) {
      for (const radio of here()) radio.release();
      await schedule.pass(schedule.now() + 120);
    }
    await schedule.pass(schedule.now() + 600);
    judge.checkIdle();
  }

  const looking = () => {
    judge.look();
    schedule.in(LOOK_MS, looking);
  };
  for (const relay of script.relays) newNode(relay);
  network.slow(script.delayMsMax);
  await schedule.pass(REACHED_MS);
  for (const [at, { users }] of script.relays.entries()) for (const user of users) seat(nodes[at], user);
  await schedule.pass(FIRST_MS);
  network.lose(script.loss);
  for (const step of script.steps) schedule.at(step.atMs, () => perform(step));
  looking();
  await schedule.pass(FIRST_MS + ACTING_MS);
  trace?.('calm');
  await calm();
  return { seen: judge.seen };
}
