// The page's side of the sound: one player for all talkgroups, the outputs, the tones and the microphone.
import { type Choice, gainsOf, levelOf } from './gains.js';
import type { Input } from './input.js';
import type { ToMixer } from './mixer.js';
import { canChoose, listOutputs, openSecond, type SecondOutput } from './outputs.js';
import { keepRunning } from './running.js';
import type { Sound } from './sound-types.js';
import { playTone } from './tones.js';

export type SoundOptions = {
  /** The module of worklets.ts, as the page loads it. */
  workletsUrl: string | URL;
};

type Running = { readonly context: AudioContext; readonly player: AudioWorkletNode };

/** A talkgroup, known to the player by its place. `waiting`: its port, until the player runs. */
type Line = Choice & { readonly place: number; waiting: MessagePort | null };

const RATE = 48_000;
/** The player sends levels 23 times a second while something is heard. */
const LEVEL_MS_MAX = 250;

/** Creates the sound of a page. It is silent until `start`. */
export function createSound({ workletsUrl }: SoundOptions): Sound {
  const lines = new Map<string, Line>();
  const chosen = { selected: '', unselected: '' };
  /** Places that were freed. The next talkgroup takes one of them, so that the player's list does not grow. */
  const free: number[] = [];
  let starting: Promise<Running> | null = null;
  let running: Running | null = null;
  let second: SecondOutput | null = null;
  let input: Input | null = null;
  let powers: Float32Array | null = null;
  let powersAtMs = 0;

  const sound: Sound = {
    onMicrophoneLost: null,
    onMicrophoneLevel: null,
    get microphone() {
      return input;
    },
    get isMicrophoneReplaced() {
      return input?.isReplaced ?? false;
    },
    async start() {
      await startOnce();
    },
    add,
    remove(talkgroupId) {
      const line = lines.get(talkgroupId);
      if (!line) return;
      lines.delete(talkgroupId);
      free.push(line.place);
      line.waiting?.close();
      tell({ kind: 'remove', place: line.place });
    },
    setVolume: (talkgroupId, volume) => choose(talkgroupId, { volume }),
    setMuted: (talkgroupId, isMuted) => choose(talkgroupId, { isMuted }),
    setSide: (talkgroupId, side) => choose(talkgroupId, { side }),
    tone(name) {
      if (!running) return;
      playTone(running.context, name);
      if (second && name === 'alarm') playTone(second.context, name);
    },
    async openMicrophone(deviceId = '') {
      const { context } = await startOnce();
      sound.closeMicrophone();
      const level = (peak: number) => sound.onMicrophoneLevel?.(peak);
      // Loaded with the first microphone.
      const { openInput } = await import('./input.js');
      const opened = await openInput(context, workletsUrl, deviceId, { lost, level });
      // Of two that were asked for at once, the later one stays.
      sound.closeMicrophone();
      input = opened;
      return opened.port;
    },
    closeMicrophone() {
      input?.close();
      input = null;
    },
    hearMicrophone: (isOn) => input?.hear(isOn),
    outputs: listOutputs,
    async setOutput(which, id) {
      chosen[which] = id;
      if (running) await route(running);
    },
    level(talkgroupId) {
      const line = lines.get(talkgroupId);
      if (!line || performance.now() - powersAtMs > LEVEL_MS_MAX) return levelOf(0);
      return levelOf(powers?.[line.place] ?? 0);
    },
    async close() {
      sound.closeMicrophone();
      for (const talkgroupId of [...lines.keys()]) sound.remove(talkgroupId);
      second?.close();
      const closing = starting;
      starting = null;
      running = null;
      await closing?.then(({ context }) => context.close());
    },
  };
  return sound;

  function startOnce(): Promise<Running> {
    starting ??= open().catch((error: unknown) => {
      // The next gesture tries again.
      starting = null;
      throw error;
    });
    return starting;
  }

  /** The context begins before anything is awaited, because only a user gesture may begin it. */
  async function open(): Promise<Running> {
    const context = createContext();
    keepRunning(context);
    await context.audioWorklet.addModule(workletsUrl);
    const player = new AudioWorkletNode(context, 'talkgroup-player', {
      numberOfInputs: 0,
      numberOfOutputs: 2,
      outputChannelCount: [2, 2],
    });
    player.port.onmessage = ({ data }: MessageEvent<Float32Array>) => {
      powers = data;
      powersAtMs = performance.now();
    };
    player.connect(context.destination, 0);
    running = { context, player };
    for (const line of lines.values()) connect(line);
    await route(running);
    return running;
  }

  function add(talkgroupId: string): MessagePort {
    sound.remove(talkgroupId);
    const { port1, port2 } = new MessageChannel();
    const place = free.pop() ?? lines.size;
    const line: Line = { place, volume: 1, isMuted: false, side: null, waiting: port2 };
    lines.set(talkgroupId, line);
    connect(line);
    return port1;
  }

  function connect(line: Line): void {
    const { waiting: port, place } = line;
    if (!running || !port) return;
    line.waiting = null;
    const message: ToMixer = { kind: 'add', place, port, gains: gainsOf(line, second !== null) };
    running.player.port.postMessage(message, [port]);
  }

  function choose(talkgroupId: string, choice: Partial<Choice>): void {
    const line = lines.get(talkgroupId);
    if (!line) return;
    Object.assign(line, choice);
    tellGains(line);
  }

  function tellGains(line: Line): void {
    tell({ kind: 'gains', place: line.place, gains: gainsOf(line, second !== null) });
  }

  function tell(message: ToMixer): void {
    running?.player.port.postMessage(message);
  }

  /** The first output takes its device. The second one exists while another device is chosen for it. */
  async function route({ context, player }: Running): Promise<void> {
    if (!canChoose(context)) return;
    if (context.sinkId !== chosen.selected) await context.setSinkId(chosen.selected);
    second?.close();
    second = null;
    const isOwn = chosen.unselected !== '' && chosen.unselected !== chosen.selected;
    try {
      if (isOwn) second = await openSecond(context, player, chosen.unselected);
    } finally {
      for (const line of lines.values()) tellGains(line);
    }
  }

  function lost(): void {
    sound.closeMicrophone();
    sound.onMicrophoneLost?.();
  }
}

function createContext(): AudioContext {
  try {
    return new AudioContext({ sampleRate: RATE, latencyHint: 'interactive' });
  } catch {
    // A device that cannot run at this rate. The worker resamples.
    return new AudioContext({ latencyHint: 'interactive' });
  }
}
