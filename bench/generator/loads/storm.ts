// Radios that lose their connection all at once and come back as the client library does: when do they hear again?
import { constants, setPriority } from 'node:os';
import { createRecorder, type Latency } from '../../figures/histogram.js';
import { around, nowMs, until } from '../../machine/clock.js';
import { readUsage, sharesOf, spent } from '../../machine/conditions.js';
import { arrive } from '../../radios/arrivals.js';
import type { Member } from '../../radios/member.js';
import type { Target } from '../../radios/raw-radio.js';
import { type ReturningOptions, ReturningRadio } from '../../radios/returning-radio.js';
import { type Busy, type Performance, perform } from '../player.js';

export interface StormSetup {
  readonly server: Target;
  /** In the talkgroup of each one a radio talks now and then. */
  readonly users: readonly Member[];
  /** Of the first of them among all radios of the run. */
  readonly firstIndex: number;
  readonly arrivalsPerSecond: number;
}

export interface StormPiece {
  /** By nowMs(). */
  readonly cutAtMs: number;
  readonly ms: number;
}

/** `generatorShare` is of the time until the last one heard again. */
export interface StormPlayed extends Busy {
  /** How many had heard something before the cut. */
  readonly ready: number;
  /** Of each radio that was back by the end, from the cut to WELCOME, and to the first frame in hand. */
  readonly welcomedMs: readonly number[];
  readonly heardMs: readonly number[];
  /** WELCOME said that the session goes on. */
  readonly resumed: number;
  readonly attempts: number;
  /** Attempts that came to nothing, and connections lost again, by close code, or in the words of the error. */
  readonly refused: Readonly<Record<string, number>>;
  /** How late attempts began: what the generator, not the server, adds to the times above. */
  readonly late: Latency;
}

perform<StormSetup, StormPiece, StormPlayed, null>(prepare);

async function prepare(setup: StormSetup): Promise<Performance<StormPiece, StormPlayed, null>> {
  const { server, users, firstIndex, arrivalsPerSecond } = setup;
  // Who measures those who stay shares this core, and shall not wait for it.
  setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
  const score = createScore();
  const depart = createDepartures();
  const radios = await arrive({
    users,
    firstIndex,
    perSecond: arrivalsPerSecond,
    connect: ({ token }, localAddress) =>
      new ReturningRadio({ target: server, token, localAddress, depart, ...score.watch() }),
  });
  return {
    async play({ cutAtMs, ms }) {
      await around(cutAtMs);
      const before = readUsage([]);
      score.cut(cutAtMs);
      for (const radio of radios) radio.cut(cutAtMs);
      await until(() => score.isComplete(users.length), cutAtMs + ms - nowMs());
      const { generatorShare } = sharesOf(spent(before, readUsage([])));
      return { ...score.result(), generatorShare };
    },
    end: async () => null,
  };
}

/** In each turn of the loop so many set out, at a tenth of a millisecond each. */
const EACH_TURN = 8;

/**
 * This process has no time for all who are due. Left to their timers, it would make a thousand connections without a
 * look at any answer, and a thousand requests would reach the server in one moment: a bulk that no fleet makes.
 */
function createDepartures(): (act: () => void) => void {
  const due: (() => void)[] = [];

  function turn(): void {
    for (const act of due.splice(0, EACH_TURN)) act();
    if (due.length > 0) setImmediate(turn);
  }

  return (act) => {
    due.push(act);
    if (due.length === 1) setImmediate(turn);
  };
}

/** What the radios of this process have seen, and what they have seen since the cut. */
function createScore() {
  const late = createRecorder();
  const welcomedMs: number[] = [];
  const heardMs: number[] = [];
  const refused: Record<string, number> = {};
  let cutAtMs: number | null = null;
  let ready = 0;
  let resumed = 0;
  let attempts = 0;

  /** Of one radio. */
  function watch(): Pick<ReturningOptions, 'receive' | 'welcomed' | 'setOut' | 'refused'> {
    let isReady = false;
    let isBack = false;
    let hasHeard = false;
    return {
      receive() {
        if (cutAtMs === null) {
          if (!isReady) ready++;
          isReady = true;
        } else if (isBack && !hasHeard) {
          hasHeard = true;
          heardMs.push(nowMs() - cutAtMs);
        }
      },
      welcomed(welcome) {
        if (cutAtMs === null || isBack) return;
        isBack = true;
        welcomedMs.push(nowMs() - cutAtMs);
        if (welcome.resumed === true) resumed++;
      },
      setOut(lateMs) {
        attempts++;
        late.record(lateMs);
      },
      refused(loss) {
        const how = loss === null ? 'no answer' : (loss.code ?? loss.message);
        refused[how] = (refused[how] ?? 0) + 1;
      },
    };
  }

  return {
    watch,
    cut(atMs: number): void {
      cutAtMs = atMs;
    },
    isComplete: (radios: number) => heardMs.length === radios,
    result: () => ({ ready, welcomedMs, heardMs, resumed, attempts, refused, late: late.latency() }),
  };
}
