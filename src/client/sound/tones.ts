// Plays the console's own tones. They need no worker, and no volume or mute of a talkgroup changes them.
import type { Sound } from './sound-types.js';

export type ToneName = Parameters<Sound['tone']>[0];

type Note = { hz: number; fromMs: number; ms: number };

/** Above the speech of talkgroups at full volume, which is about −20 dBFS. */
const LOUDNESS = 0.25;
const EDGE_MS = 5;

const TONES: Readonly<Record<ToneName, readonly Note[]>> = {
  // The three short notes that trunked radios play when the floor is granted.
  permit: [0, 60, 120].map((fromMs) => ({ hz: 910, fromMs, ms: 35 })),
  queued: [{ hz: 440, fromMs: 0, ms: 120 }],
  denied: [{ hz: 310, fromMs: 0, ms: 400 }],
  denied_finally: [0, 500].map((fromMs) => ({ hz: 310, fromMs, ms: 400 })),
  ending: [{ hz: 910, fromMs: 0, ms: 70 }],
  ended: [{ hz: 620, fromMs: 0, ms: 70 }],
  alarm: [0, 1, 2, 3, 4, 5].map((i) => ({ hz: i % 2 === 0 ? 800 : 1_050, fromMs: i * 180, ms: 170 })),
};

/** Plays a tone on the context's output. A context that is suspended plays it when it resumes. */
export function playTone(context: AudioContext, name: ToneName): void {
  const gain = new GainNode(context, { gain: 0 });
  gain.connect(context.destination);
  const notes = TONES[name];
  for (const [i, { hz, fromMs, ms }] of notes.entries()) {
    const from = context.currentTime + fromMs / 1000;
    const oscillator = new OscillatorNode(context, { frequency: hz });
    oscillator.connect(gain);
    oscillator.start(from);
    oscillator.stop(from + ms / 1000);
    shape(gain.gain, from, ms);
    // Without this the nodes of each tone stay in the graph.
    if (i === notes.length - 1) oscillator.onended = () => gain.disconnect();
  }
}

function shape(gain: AudioParam, from: number, ms: number): void {
  gain.setValueAtTime(0, from);
  gain.linearRampToValueAtTime(LOUDNESS, from + EDGE_MS / 1000);
  gain.setValueAtTime(LOUDNESS, from + (ms - EDGE_MS) / 1000);
  gain.linearRampToValueAtTime(0, from + ms / 1000);
}
