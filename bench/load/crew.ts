// Keeps the sessions of a load: opens them on the tokens in turn, and knows which ended and what they were told.
import type { ServerMessage, Welcome } from '../../src/protocol/types.js';
import type { ConnectionLost } from '../radios/raw-radio.js';
import type { Hearing } from './hearing.js';
import { nameOf, refusalOf } from './refusals.js';
import { type LoadSettings, Refused } from './settings.js';
import { leaveAll, openStation, type Station } from './stations.js';
import { interruptionIn } from './talking.js';

export interface Crew {
  /** The talkers come first and have the first tokens. The listeners go on from there, and begin again. */
  open(index: number): Station;
  at(index: number): Station;
  welcomeOf(index: number): Promise<Welcome>;
  /** Sessions that have not ended. */
  online(): number;
  /** From now on a listener may be lost, and a talker may not be interrupted. */
  begin(): void;
  /** The first session that the service ended before. */
  refusal(): Refused | null;
  /** Connections of listeners that ended since, by their reason. */
  readonly ended: Readonly<Record<string, number>>;
  /** Frames that the service skipped for listeners that it found too slow. */
  skipped(): number;
  leave(): Promise<void>;
}

/** `stop` ends the load. */
export function createCrew(
  { url, tokens, talkgroup, talkers }: LoadSettings,
  hearing: Hearing,
  stop: (why: Refused) => void,
): Crew {
  const stations: Station[] = [];
  const ended: Record<string, number> = {};
  let isTalking = false;
  let refusal: Refused | null = null;
  let lost = 0;
  let skipped = 0;

  function told(message: ServerMessage, isTalker: boolean): void {
    if (!isTalker) {
      if (message.type === 'LAG') skipped += message.talkgroups.reduce((sum, { missed }) => sum + missed, 0);
      return;
    }
    const interruption = isTalking ? interruptionIn(message) : null;
    if (interruption !== null) stop(new Refused(interruption));
  }

  function lose(loss: ConnectionLost, isTalker: boolean): void {
    lost++;
    if (!isTalking) refusal ??= new Refused(refusalOf(loss));
    else if (isTalker) stop(new Refused(`the connection of a talker ended. ${refusalOf(loss)}`));
    else ended[nameOf(loss)] = (ended[nameOf(loss)] ?? 0) + 1;
  }

  const at = (index: number): Station => {
    const station = stations[index];
    if (station === undefined) throw new RangeError(`no session ${index}`);
    return station;
  };

  return {
    open(index) {
      const isTalker = index < talkers;
      const listener = isTalker ? null : hearing.listener();
      const station = openStation({
        ...{ url, talkgroup, token: tokens[index % tokens.length] ?? '' },
        receive: listener?.receive ?? (() => {}),
        told: (message) => told(message, isTalker),
        lost: (loss) => lose(loss, isTalker),
      });
      listener?.has(station.radio);
      stations[index] = station;
      return station;
    },
    at,
    welcomeOf: (index) => at(index).welcomed,
    online: () => stations.length - lost,
    begin() {
      isTalking = true;
    },
    refusal: () => refusal,
    ended,
    skipped: () => skipped,
    leave: () => leaveAll(stations),
  };
}
