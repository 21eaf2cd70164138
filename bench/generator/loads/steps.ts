// Plays one server: any number of talkgroups are talked in, whenever the scenario asks.
import type { Latency } from '../../figures/histogram.js';
import type { Conditions } from '../../machine/conditions.js';
import { type Heard, listenWith } from '../../radios/ears.js';
import { type Performance, perform } from '../player.js';
import { type Piece, type Stage, type StageSetup, type Turn, withStage } from '../stage.js';

/** With a single server. */
export interface StepsSetup extends StageSetup {
  readonly piece: Omit<Piece, 'talkers'>;
}

export interface StepPiece {
  readonly talkers: number;
}

/** A turn with so many talkers. `generatorShare` is that of the measured frames. */
export interface Step extends Omit<Turn, 'ears' | 'latency' | 'server'>, Conditions, Heard {
  readonly latency: Omit<Latency, 'hdr'>;
}

perform<StepsSetup, StepPiece, Step, null>(prepare);

/** Radios stay connected until the process ends. */
function prepare({ piece, ...setup }: StepsSetup): Promise<Performance<StepPiece, Step, null>> {
  return new Promise((resolve, reject) => {
    const seated = withStage(setup, (stage) => {
      resolve({
        play: ({ talkers }) => play(stage, { ...piece, talkers }),
        end: () => Promise.resolve(null),
      });
      return new Promise<never>(() => {});
    });
    seated.catch(reject);
  });
}

async function play(stage: Stage, piece: Piece): Promise<Step> {
  await stage.start();
  const { server: _, ears = [], latency, ...turn } = await stage.turn(0, piece);
  const { hdr: __, ...percentiles } = latency;
  return { ...(await stage.conditions()), ...turn, latency: percentiles, ...listenWith(ears) };
}
