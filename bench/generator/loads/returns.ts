// Radios on three nodes that lose their connection and come back, to the same node or to another.
import { createRecorder, type Latency } from '../../figures/histogram.js';
import { around, nowMs } from '../../machine/clock.js';
import { readUsage, sharesOf, spent } from '../../machine/conditions.js';
import type { Member } from '../../radios/member.js';
import { type ConnectionLost, RawRadio, type Said, type Target } from '../../radios/raw-radio.js';
import { joinAll } from '../../radios/swarm.js';
import { answer, type Busy, fail } from '../player.js';

export interface ReturnsTask {
  readonly targets: readonly Target[];
  readonly users: readonly Member[];
  readonly perSecond: number;
}

export interface Returned {
  /** From when the connection should have begun to WELCOME. */
  readonly welcome: Latency;
  readonly radios: number;
  /** WELCOME said that the session goes on. */
  readonly resumed: number;
}

export interface Returns extends Busy {
  /** To the node that has the session. */
  readonly same: Returned;
  /** To another one. */
  readonly other: Returned;
  readonly late: Latency;
}

/** Between the end of the old connection and the new one. */
const AWAY_MS = 200;
const PATIENCE_MS = 5_000;

answer<ReturnsTask, Returns>(play);

async function play({ targets, users, perSecond }: ReturnsTask): Promise<Returns> {
  const tokens: string[] = [];
  const targetOf = (radio: number, further = 0) => targets[(radio + further) % targets.length] as Target;
  const radios = await joinAll(users, (token, radio) =>
    open({
      target: targetOf(radio),
      token,
      lost: fail,
      welcomed: (said) => (tokens[radio] = String(said.resume_token)),
    }),
  );
  const scores = [createScore(), createScore()] as const;
  const late = createRecorder();
  const before = readUsage([]);
  const ahead = Math.ceil((perSecond * AWAY_MS) / 1000);
  for (const radio of radios.slice(0, ahead)) radio.drop();
  const startMs = nowMs() + AWAY_MS;
  const back: RawRadio[] = [];
  for (const [index, user] of users.entries()) {
    const dueMs = startMs + (1000 * index) / perSecond;
    const isOther = Math.floor(index / targets.length) % 2; // on each node as many of the one as of the other
    await around(dueMs);
    radios[index + ahead]?.drop();
    late.record(nowMs() - dueMs);
    const score = scores[isOther as 0 | 1];
    score.radios++;
    back.push(
      open({
        target: targetOf(index, isOther),
        token: `${user.token}&resume=${tokens[index]}`,
        lost: () => {},
        welcomed(said) {
          score.times.record(nowMs() - dueMs);
          if (said.resumed === true) score.resumed++;
        },
      }),
    );
  }
  await Promise.race([Promise.allSettled(back.map(({ joined }) => joined)), around(nowMs() + PATIENCE_MS)]);
  const { generatorShare } = sharesOf(spent(before, readUsage([])));
  const [same, other] = scores.map(({ times, ...counts }) => ({ welcome: times.latency(), ...counts }));
  return { same: same as Returned, other: other as Returned, late: late.latency(), generatorShare };
}

const createScore = () => ({ times: createRecorder(), radios: 0, resumed: 0 });

interface Opening {
  readonly target: Target;
  readonly token: string;
  readonly lost: (loss: ConnectionLost) => void;
  readonly welcomed: (welcome: Said) => void;
}

const open = ({ welcomed, ...options }: Opening): RawRadio =>
  new RawRadio({
    ...options,
    receive: () => {},
    told: (said) => {
      if (said.type === 'WELCOME') welcomed(said);
    },
  });
