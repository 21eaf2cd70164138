// Plays one talker and its listeners until the scenario ends, and reports each piece that the scenario asks for.
import { createRecorder, type Latency } from '../../figures/histogram.js';
import { around, nowMs, until } from '../../machine/clock.js';
import { readUsage, sharesOf, spent } from '../../machine/conditions.js';
import { type Audience, type Delivered, openChannel } from '../../radios/channel.js';
import type { Member } from '../../radios/member.js';
import type { Target } from '../../radios/raw-radio.js';
import { type Busy, fail, type Performance, perform } from '../player.js';

export interface AudienceSetup {
  readonly server: Target;
  /** The talker, then the listeners. */
  readonly users: readonly Member[];
  readonly audience: Audience;
}

export interface AudiencePiece {
  /** By nowMs(). */
  readonly fromMs: number;
  readonly ms: number;
}

/** Of the frames that were due in the piece. */
export interface AudienceHeard extends Busy {
  readonly latency: Latency;
  readonly late: Latency;
}

/** What the frames of a piece may take to arrive. Who has not heard of one by then is late in no percentile, but lost. */
const ARRIVAL_MS_MAX = 5_000;
/** More than any scenario lasts. */
const TALK_S_MAX = 300;

perform<AudienceSetup, AudiencePiece, AudienceHeard, Delivered>(prepare);

async function prepare({
  server,
  users,
  audience,
}: AudienceSetup): Promise<Performance<AudiencePiece, AudienceHeard, Delivered>> {
  const periodMs = 1000 / audience.framesPerSecond;
  const probes = Math.ceil((users.length - 1) / audience.probeEvery);
  let piece: Measured | null = null;
  let isEnding = false;
  let firstMs = 0;
  /** When the newest frame was due. */
  let spokenMs = 0;

  const channel = await openChannel({
    target: server,
    users,
    audience,
    frames: TALK_S_MAX * audience.framesPerSecond,
    lost: fail,
    heard(sequence, latencyMs) {
      if (piece?.has(firstMs + sequence * periodMs)) piece.heard(latencyMs);
    },
  });
  firstMs = nowMs() + periodMs;
  const talked = talk();

  async function talk(): Promise<void> {
    for (let dueMs = firstMs; !isEnding; dueMs += periodMs) {
      const lateMs = await channel.speak(dueMs);
      if (piece?.has(dueMs)) piece.left(lateMs);
      spokenMs = dueMs;
    }
  }

  return {
    async play({ fromMs, ms }) {
      const now = measure(fromMs, ms);
      piece = now;
      await around(fromMs);
      const before = readUsage([]);
      await around(fromMs + ms);
      const { generatorShare } = sharesOf(spent(before, readUsage([])));
      await until(() => spokenMs >= fromMs + ms && now.isHeardBy(probes), ARRIVAL_MS_MAX);
      piece = null;
      return { ...now.result(), generatorShare };
    },
    async end() {
      isEnding = true;
      await talked;
      return channel.finish();
    },
  };
}

type Measured = ReturnType<typeof measure>;

function measure(fromMs: number, ms: number) {
  const recorder = createRecorder();
  const late = createRecorder();
  let sent = 0;
  let deliveries = 0;
  return {
    has: (dueMs: number) => dueMs >= fromMs && dueMs < fromMs + ms,
    left(lateMs: number): void {
      late.record(lateMs);
      sent++;
    },
    heard(latencyMs: number): void {
      recorder.record(latencyMs);
      deliveries++;
    },
    isHeardBy: (probes: number) => deliveries >= sent * probes,
    result: () => ({ latency: recorder.latency(), late: late.latency() }),
  };
}
