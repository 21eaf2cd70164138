// Colour, dashes and symbol of a name, the same throughout a page. Told apart without colour too.
import type { Plot } from '../figures/result.js';

export interface Look {
  readonly colour: string;
  readonly dash: 'solid' | 'dashed' | 'dotted' | readonly number[];
  readonly symbol:
    | 'circle'
    | 'rect'
    | 'triangle'
    | 'diamond'
    | 'emptyCircle'
    | 'emptyRect'
    | 'emptyTriangle'
    | 'emptyDiamond';
}

export type Looks = ReadonlyMap<string, Look>;

/** Of different lightness, after Okabe and Ito, who chose colours that the colour-blind tell apart. Ours come first. */
const LOOKS: readonly Look[] = [
  { colour: '#0b4f9e', dash: 'solid', symbol: 'circle' },
  { colour: '#d55e00', dash: 'dashed', symbol: 'rect' },
  { colour: '#00855f', dash: [2, 3], symbol: 'triangle' },
  { colour: '#7b2d8b', dash: [10, 3, 2, 3], symbol: 'diamond' },
  { colour: '#b07d00', dash: [14, 4], symbol: 'emptyCircle' },
  { colour: '#4a4a4a', dash: [6, 2], symbol: 'emptyRect' },
  { colour: '#2f9bd6', dash: [4, 4], symbol: 'emptyTriangle' },
  { colour: '#c2185b', dash: [10, 3, 2, 3, 2, 3], symbol: 'emptyDiamond' },
];

/** The servers keep theirs from page to page, whichever of them a page shows. */
const SERVERS = [
  'relay',
  'bare engine',
  'ws',
  'socket.io',
  '@fastify/websocket',
  'mosquitto',
  'relay, no lag pings',
  'nats-server',
];

/** Names of series in the order of the plots. Each gets a look that no other in any of its plots has, while there are enough. */
export function chooseLooks(plots: readonly Plot[]): Looks {
  const looks = new Map(SERVERS.map((name, i) => [name, lookAt(i)]));
  const groups = plots.map(namesIn);
  for (const names of groups) {
    for (const name of names) {
      if (looks.has(name)) continue;
      const besides = new Set(groups.filter((group) => group.includes(name)).flat());
      const taken = [...besides].map((other) => looks.get(other));
      const free = LOOKS.find((look) => !taken.includes(look));
      looks.set(name, free ?? lookAt(looks.size));
    }
  }
  return looks;
}

const lookAt = (i: number): Look => LOOKS[i % LOOKS.length] as Look; // never empty

/** Bars stand for themselves unless a series of theirs has a colour. */
const namesIn = (plot: Plot): string[] => (plot.kind === 'bars' ? [] : plot.series.map(({ name }) => name));
