// Finds how many talkgroups can be active on each server before its deliveries are late.
import type { Conditions } from '../../machine/conditions.js';
import { answer } from '../player.js';
import { type Piece, type Stage, type StageSetup, withStage } from '../stage.js';

export interface CapacityTask extends StageSetup {
  readonly piece: Omit<Piece, 'talkers'>;
  /** A step with a longer p99, or with a loss, is one too many. */
  readonly p99MsMax: number;
  readonly talkersMax: number;
  /** The first search begins with so many talkers, and goes up by as many. */
  readonly talkersFirst: number;
  /** How often the limit of each server is found. */
  readonly repeats: number;
}

/** A turn with so many talkers. */
export interface Step {
  readonly server: number;
  readonly talkers: number;
  /** What was asked for. */
  readonly deliveriesPerSecond: number;
  readonly p99Ms: number;
  readonly lost: number;
  readonly isGood: boolean;
}

/** The most talkers that were not too many. 0: even one was. */
export interface Limit {
  readonly server: number;
  /** Limits of one repeat are neighbours in time. */
  readonly repeat: number;
  readonly talkers: number;
}

export interface Capacity extends Conditions {
  readonly steps: readonly Step[];
  readonly limits: readonly Limit[];
}

answer(play);

function play({ talkersFirst, repeats, talkersMax, ...task }: CapacityTask): Promise<Capacity> {
  return withStage(task, async (stage) => {
    const steps: Step[] = [];
    const limits: Limit[] = [];
    const found: number[] = [];
    const servers = [...task.servers.keys()];
    await stage.start();
    for (let repeat = 0; repeat < repeats; repeat++) {
      for (const server of repeat % 2 === 0 ? servers : servers.toReversed()) {
        const isBearable = createTrial(stage, { ...task, server, steps });
        const before = found[server];
        // It will not be far from where it was.
        const start =
          before === undefined ? { from: talkersFirst, stride: talkersFirst } : { from: before, stride: 1 };
        const talkers = await search(isBearable, { ...start, talkersMax });
        found[server] = talkers;
        limits.push({ server, repeat, talkers });
      }
    }
    return { steps, limits, ...(await stage.conditions()) };
  });
}

/** Says whether so many talkers are not too many. */
type IsBearable = (talkers: number) => Promise<boolean>;

interface TrialOptions extends Pick<CapacityTask, 'piece' | 'p99MsMax' | 'audience'> {
  readonly server: number;
  /** Gets every step that is made. */
  readonly steps: Step[];
}

/** Twice too many is too many: a machine that stalled once is no server that fell behind. */
function createTrial(stage: Stage, options: TrialOptions): IsBearable {
  const { server, steps, piece, p99MsMax, audience } = options;
  const seconds = piece.frames / audience.framesPerSecond;
  return async (talkers) => {
    for (let attempt = 0; attempt < 2; attempt++) {
      const { latency, lost, delivered } = await stage.turn(server, { ...piece, talkers });
      const isGood = lost === 0 && latency.p99Ms <= p99MsMax;
      const deliveriesPerSecond = (delivered + lost) / seconds;
      steps.push({ server, talkers, deliveriesPerSecond, p99Ms: latency.p99Ms, lost, isGood });
      if (isGood) return true;
    }
    return false;
  };
}

/** The most talkers that are bearable: away from where it begins in growing strides, then by halves. */
async function search(
  isBearable: IsBearable,
  {
    from,
    stride,
    talkersMax,
  }: { readonly from: number; readonly stride: number; readonly talkersMax: number },
): Promise<number> {
  let enough = 0;
  let tooMany = talkersMax + 1;
  let talkers = Math.max(1, Math.min(from, talkersMax));
  for (let reach = stride; enough + 1 < tooMany; reach *= 2) {
    if (await isBearable(talkers)) enough = talkers;
    else tooMany = talkers;
    if (tooMany > talkersMax) talkers = Math.min(enough + reach, talkersMax);
    else if (enough === 0) talkers = Math.max(tooMany - reach, 1);
    else talkers = Math.floor((enough + tooMany) / 2);
  }
  return enough;
}
