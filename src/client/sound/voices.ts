// Decodes what is heard, in a worker or in the page: one voice for each burst, played by the player of its talkgroup.
import { CODEC_RATE, createDecoder, type Decoder } from './codec.js';
import { JITTER, type JitterCounts } from './jitter.js';
import { type FromPlayer, listen, type Port } from './ports.js';
import type { VoiceFrame, Voices } from './sound-types.js';
import { createVoice, type Line, type Voice } from './voice.js';

export type VoicesOptions = {
  /** The buffer of each voice begins with this (ms) and never gets shorter. Default: 60. */
  targetMs?: number;
  /** Monotonic ms, the clock of `hear`. Default: performance.now. */
  nowMs?: () => number;
  /** Default: libopus. */
  createDecoder?: () => Promise<Decoder>;
};

/** Sums over all voices since the start. */
export type VoiceFigures = JitterCounts & {
  voices: number;
  /** Times that the player had nothing to play, because the worker was late. */
  starved: number;
};

/** In all talkgroups together. Each costs 0.4 % of a core. The service allows 32 talkers in a talkgroup. */
const VOICES_MAX = 64;
/** Sessions of a talkgroup with a last burst that is remembered as ended. */
const ENDED_MAX = 256;

type TalkgroupLine = {
  readonly port: Port;
  /** null until the player runs. What is heard before is not played. */
  line: Line | null;
  /** By session and burst. */
  readonly voices: Map<string, Voice>;
  /** By session: its last burst that has ended. A frame that is later than its end is not played. */
  readonly ended: Map<number, number>;
};

/** Resolves when the codec is loaded. */
export async function createVoices({
  targetMs = JITTER.targetMsMin,
  nowMs = () => performance.now(),
  createDecoder: open = createDecoder,
}: VoicesOptions = {}): Promise<Voices & { figures(): VoiceFigures }> {
  const lines = new Map<string, TalkgroupLine>();
  let lastNumber = 0;
  let count = 0;
  /** Of voices that have ended. */
  let ended: VoiceFigures = { ...NO_COUNTS };
  (await open()).free();

  return {
    attach(talkgroupId: string, port: Port) {
      detach(talkgroupId);
      const line: TalkgroupLine = { port, line: null, voices: new Map(), ended: new Map() };
      lines.set(talkgroupId, line);
      listen<FromPlayer>(port, (message) => receive(line, message));
    },
    detach,
    hear,
    lagged(talkgroupId) {
      for (const voice of lines.get(talkgroupId)?.voices.values() ?? []) {
        lastNumber += 1;
        voice.lagged(lastNumber, nowMs());
      }
    },
    ended(talkgroupId, session, burst) {
      const line = lines.get(talkgroupId);
      if (!line) return;
      remember(line.ended, session, burst);
      const voice = line.voices.get(nameOf(session, burst));
      if (voice && !voice.ended(nowMs())) close(line, voice);
    },
    close() {
      for (const talkgroupId of [...lines.keys()]) detach(talkgroupId);
    },
    figures() {
      const running = [...lines.values()].flatMap(({ voices }) => [...voices.values()]);
      return running.map(figuresOf).reduce(sumOf, ended);
    },
  };

  function hear({ talkgroupId, session, burst, sequence, payload }: VoiceFrame, atMs: number): void {
    const line = lines.get(talkgroupId);
    if (!line?.line || payload.length === 0) return;
    const name = nameOf(session, burst);
    let voice = line.voices.get(name);
    if (!voice) {
      // Beyond the bound no listener could tell the voices apart. The burst is not heard until another one ends.
      if (burst <= (line.ended.get(session) ?? 0) || count >= VOICES_MAX) return;
      lastNumber += 1;
      count += 1;
      voice = createVoice(line.line, lastNumber, payload, open());
      line.voices.set(name, voice);
    }
    voice.hear(sequence, payload, atMs);
  }

  function receive(line: TalkgroupLine, message: FromPlayer): void {
    if (message.kind === 'rate') {
      line.line = { port: line.port, rate: message.rate || CODEC_RATE, targetMs };
      return;
    }
    // The pieces of a voice that was dropped come back under a number that no voice has.
    for (const voice of line.voices.values()) {
      if (voice.number !== message.voice) continue;
      if (!voice.played(message.due, nowMs())) close(line, voice);
      return;
    }
  }

  function close(line: TalkgroupLine, closing: Voice): void {
    for (const [name, voice] of line.voices) if (voice === closing) line.voices.delete(name);
    closing.close();
    count -= 1;
    ended = sumOf(ended, figuresOf(closing));
  }

  function detach(talkgroupId: string): void {
    const line = lines.get(talkgroupId);
    if (!line) return;
    for (const voice of [...line.voices.values()]) close(line, voice);
    line.port.close();
    lines.delete(talkgroupId);
  }
}

const NO_COUNTS: VoiceFigures = {
  ...{ voices: 0, starved: 0, played: 0, leftOut: 0, missing: 0, dropped: 0, unused: 0, underruns: 0 },
};

const figuresOf = ({ counts, starved }: Voice): VoiceFigures => ({ ...counts, starved, voices: 1 });

function sumOf(one: VoiceFigures, other: VoiceFigures): VoiceFigures {
  const sum = { ...one };
  for (const key of Object.keys(sum) as (keyof VoiceFigures)[]) sum[key] += other[key];
  return sum;
}

const nameOf = (session: number, burst: number) => `${session}/${burst}`;

function remember(ended: Map<number, number>, session: number, burst: number): void {
  ended.delete(session);
  ended.set(session, burst);
  const [oldest] = ended.keys();
  if (ended.size > ENDED_MAX && oldest !== undefined) ended.delete(oldest);
}
