// Users leave a talkgroup over REST at one node while their radios are on another: how soon the radio is out.
import { createRecorder, type Latency } from '../../figures/histogram.js';
import { nowMs, until } from '../../machine/clock.js';
import { readUsage, sharesOf, spent } from '../../machine/conditions.js';
import type { Member } from '../../radios/member.js';
import { RawRadio, type Target } from '../../radios/raw-radio.js';
import { joinAll } from '../../radios/swarm.js';
import { answer, type Busy, fail, soon } from '../player.js';
import { createSender, encodeRequest } from '../requests.js';

export interface LeavesTask {
  /** `http://host:port` of the node that is asked. */
  readonly restUrl: string;
  /** Where the radios are. */
  readonly target: Target;
  readonly users: readonly Member[];
  readonly perSecond: number;
}

export interface Leaves extends Busy {
  /** From the 200 in hand to TALKGROUP_LEFT in hand, 0 where that came first. */
  readonly after: Latency;
  /** Requests without a 200, and radios that stayed in. */
  readonly failed: number;
  readonly late: Latency;
}

const PATIENCE_MS = 3_000;
const CONNECTIONS = 8;

answer<LeavesTask, Leaves>(play);

async function play({ restUrl, target, users, perSecond }: LeavesTask): Promise<Leaves> {
  const answeredMs = users.map(() => Number.NaN);
  const leftMs = users.map(() => Number.NaN);
  await joinAll(
    users,
    (token, index) =>
      new RawRadio({
        ...{ target, token, lost: fail, receive: () => {} },
        told: ({ type }) => {
          if (type === 'TALKGROUP_LEFT') leftMs[index] = nowMs();
        },
      }),
  );
  const before = readUsage([]);
  const round = { fromMs: soon(), ms: (1000 * users.length) / perSecond, perSecond };
  const { late } = await createSender({ url: restUrl, connectionsMax: CONNECTIONS }).play({
    ...round,
    request: (index) => leaveOf(users[index]),
    answered: (index, { status }) => {
      if (status === 200) answeredMs[index] = nowMs();
    },
  });
  await until(() => leftMs.every((atMs) => !Number.isNaN(atMs)), PATIENCE_MS);
  const after = createRecorder();
  const delays = users.map((_, index) => (leftMs[index] ?? 0) - (answeredMs[index] ?? 0));
  for (const delayMs of delays) if (!Number.isNaN(delayMs)) after.record(Math.max(0, delayMs));
  const { generatorShare } = sharesOf(spent(before, readUsage([])));
  return { after: after.latency(), failed: delays.filter(Number.isNaN).length, late, generatorShare };
}

function leaveOf(user: Member | undefined): Buffer {
  if (user === undefined) throw new RangeError('one request for each user');
  const path = `/talkgroups/${user.talkgroups[0]?.id}/leave`;
  return encodeRequest({ method: 'DELETE', path, token: user.token });
}
