// When everything is mended: the service is ready, every radio is connected, and each hears each again.
import { END, START } from '../../src/protocol/frame.js';
import { eventually } from '../helpers/eventually.js';
import { type CrewRadio, mayTalk, type Talkgroup } from './radio.js';
import type { Scene } from './scene.js';

const READY_MS_MAX = 5000;
const CONNECTED_MS_MAX = 10_000;
/** A floor may be kept 2 s for one that has gone, and a radio that lagged needs a moment to catch up. */
const HEARD_MS_MAX = 15_000;

/** Resolves when all is well again. Throws, with what is not, when that takes too long. */
export async function recover(
  parts: readonly Pick<Scene, 'call' | 'crew' | 'talkgroups'>[],
  heardMsMax = HEARD_MS_MAX,
): Promise<void> {
  await Promise.all(parts.map(isReady));
  const crew = parts.flatMap((part) => part.crew);
  // A radio may be half a minute away from its next attempt. Apps that learn of a network do not wait for that.
  for (const radio of crew) if (!radio.isOpen) radio.reconnect();
  await eventually(() => {
    const absent = crew.filter((radio) => !radio.isOpen).map(({ index }) => index);
    if (absent.length > 0) throw new Error(`not connected again: radios ${absent.join(', ')}`);
  }, CONNECTED_MS_MAX);
  await Promise.all((parts[0]?.talkgroups ?? []).map((talkgroup) => rollCall(talkgroup, crew, heardMsMax)));
}

const isReady = ({ call }: Pick<Scene, 'call'>) =>
  eventually(async () => {
    const { status, body } = await call({ method: 'GET', path: '/readyz' });
    if (status !== 200) throw new Error(`/readyz still says ${status} ${JSON.stringify(body)}`);
  }, READY_MS_MAX);

/** One after the other says a frame, until every other member has heard it. */
async function rollCall(talkgroup: Talkgroup, crew: readonly CrewRadio[], heardMsMax: number): Promise<void> {
  const members = crew.filter((radio) => radio.talkgroups.includes(talkgroup));
  const untilMs = performance.now() + heardMsMax;
  for (const talker of members.filter((one) => mayTalk(one, talkgroup))) {
    let firstNumber: number | null = null;
    for (;;) {
      talker.say(talkgroup, 0, START | END);
      firstNumber ??= talker.lastNumber;
      const missing = await notHeard({ talker, talkgroup, members, number: firstNumber });
      if (missing.length === 0) break;
      if (performance.now() > untilMs)
        throw new Error(`in ${talkgroup.name} radio ${talker.index} is not heard by ${missing.join(', ')}`);
    }
  }
}

/** At most 8 bursts in 10 s may begin, so a next try waits at least so long. */
const TRY_MS = 1500;

/** Who has not heard this frame, or a later one, after TRY_MS. */
async function notHeard(asked: {
  talker: CrewRadio;
  talkgroup: Talkgroup;
  members: readonly CrewRadio[];
  number: number;
}): Promise<number[]> {
  const { talker, talkgroup, members, number } = asked;
  const missing = () =>
    members
      .filter((one) => one !== talker && one.heard(talker.index, talkgroup) < number)
      .map(({ index }) => index);
  await eventually(() => {
    if (missing().length > 0) throw new Error('not yet');
  }, TRY_MS).catch(() => {}); // expected: then it is tried again
  return missing();
}
