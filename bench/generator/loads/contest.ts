// A contest: the same load on several servers in turns, from one generator, so that what the machine does hits all alike.
import type { Conditions } from '../../machine/conditions.js';
import type { Heard } from '../../radios/listeners.js';
import { answer } from '../player.js';
import { type Piece, type StageSetup, sumOf, type Turn, withStage } from '../stage.js';

export interface ContestTask extends StageSetup {
  readonly piece: Piece;
  /** Who plays in a round, and in which order. The first rounds warm up. */
  readonly rounds: readonly (readonly number[])[];
  readonly warmUpRounds: number;
}

/** A measured turn. Its histogram is in the server's sum. */
export interface Played extends Omit<Turn, 'latency'> {
  readonly round: number;
  readonly p99Ms: number;
}

/** Shares are over all measured rounds. */
export interface Contest extends Conditions {
  readonly turns: readonly Played[];
  /** Of each server, over all its measured turns. */
  readonly heard: readonly Heard[];
}

answer(play);

function play({ piece, rounds, warmUpRounds, ...setup }: ContestTask): Promise<Contest> {
  return withStage(setup, async (stage) => {
    const turns: (Turn & { round: number })[] = [];
    for (const [round, order] of rounds.entries()) {
      if (round === warmUpRounds) await stage.start();
      for (const server of order) turns.push({ round, ...(await stage.turn(server, piece)) });
    }
    const measured = turns.filter(({ round }) => round >= warmUpRounds);
    return {
      turns: measured.map(({ latency, ...turn }) => ({ ...turn, p99Ms: latency.p99Ms })),
      heard: setup.servers.map((_, server) => sumOf(measured.filter((turn) => turn.server === server))),
      ...(await stage.conditions()),
    };
  });
}
