// Connects the sessions of a load: each with a token, in one talkgroup alone, and with questions that are answered.
import type { ServerMessage, ServerMessageOf, Welcome } from '../../src/protocol/types.js';
import { around, nowMs } from '../machine/clock.js';
import type { Receive } from '../radios/dialects/dialect.js';
import { type ConnectionLost, RawRadio } from '../radios/raw-radio.js';
import { Refused } from './settings.js';

export interface StationOptions {
  readonly url: string;
  readonly token: string;
  /** Its id. The session leaves the others of the user alone. */
  readonly talkgroup: string;
  readonly receive: Receive;
  /** Gets each message but answers to questions. */
  readonly told?: (message: ServerMessage) => void;
  readonly lost: (loss: ConnectionLost) => void;
}

/** A session of the load. */
export interface Station {
  readonly radio: RawRadio;
  /** Resolves with WELCOME. Rejects with ConnectionLost. */
  readonly welcomed: Promise<Welcome>;
  /** The message that answers this one. Rejects with ConnectionLost or Refused. */
  ask(message: object): Promise<ServerMessage>;
}

/** A service in use answers within some milliseconds. After this time it does not answer. */
const ANSWER_MS_MAX = 10_000;

export function openStation({ url, token, talkgroup, receive, told, lost }: StationOptions): Station {
  const questions = new Map<number, (answer: ServerMessage) => void>();
  let ref = 0;
  let isWelcomed: (welcome: Welcome) => void = () => {};
  let isLost: (loss: ConnectionLost) => void = () => {};
  const over = new Promise<never>((_, reject) => {
    isLost = reject;
  });
  over.catch(() => {}); // `lost` tells it
  const welcome = new Promise<Welcome>((resolve) => {
    isWelcomed = resolve;
  });

  const radio = new RawRadio({
    target: { url, dialect: 'relay' },
    ...{ token, receive },
    told(said) {
      const message = said as unknown as ServerMessage; // of a relay, as docs/protocol.md has it
      if (message.type === 'WELCOME') isWelcomed(message);
      if (message.type === 'WELCOME' || message.type === 'SUBSCRIBED') stayIn(message.talkgroups);
      if (message.type === 'TALKGROUP_JOINED') stayIn([message]);
      const answered =
        'ref' in message && typeof message.ref === 'number' ? questions.get(message.ref) : null;
      if (answered) answered(message);
      else told?.(message);
    },
    lost(loss) {
      isLost(loss);
      lost(loss);
    },
  });

  /** Audio of other talkgroups would be a load that was not asked for. */
  function stayIn(snapshots: readonly { readonly talkgroup_id: string }[]): void {
    const talkgroup_ids = snapshots.map((one) => one.talkgroup_id).filter((id) => id !== talkgroup);
    if (talkgroup_ids.length > 0) radio.say({ type: 'UNSUBSCRIBE', talkgroup_ids });
  }

  return {
    radio,
    welcomed: inTime(Promise.race([welcome, over]), 'WELCOME'),
    async ask(message) {
      const own = ++ref;
      const answer = new Promise<ServerMessage>((resolve) => questions.set(own, resolve));
      radio.say({ ...message, ref: own });
      try {
        return await inTime(Promise.race([answer, over]), `answer to ${(message as { type?: string }).type}`);
      } finally {
        questions.delete(own);
      }
    },
  };
}

async function inTime<T>(answer: Promise<T>, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Refused(`no ${what} within ${ANSWER_MS_MAX / 1000} s`)),
      ANSWER_MS_MAX,
    );
    timer.unref(); // an open socket keeps the process alive
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The state of the talkgroup. Throws Refused for a user that is no member. */
export async function snapshotOf(station: Station, talkgroup: string): Promise<ServerMessageOf<'SYNCED'>> {
  const answer = await station.ask({ type: 'SYNC', talkgroup_id: talkgroup });
  if (answer.type === 'SYNCED') return answer;
  const { username } = await station.welcomed;
  const why = answer.type === 'ERROR' ? answer.code : answer.type;
  throw new Refused(
    why === 'not_member'
      ? `the user ${username} is no member of talkgroup ${talkgroup}`
      : `the service does not tell the state of the talkgroup: ${why}`,
  );
}

/** Handshakes under way at once: below the bounds of a service, and of the backlog of a proxy. */
const JOINING_MAX = 64;

/** How fast the sessions connected. `refused` is the first that did not, and the others are given up. */
export interface Joined {
  readonly sessions: number;
  readonly ms: number;
  readonly refused: Error | null;
}

/** Welcomes `count` stations. Resolves also when one is refused. */
export async function joinAll(
  count: number,
  open: (index: number) => Station,
  refusal: () => Error | null,
): Promise<Joined> {
  const startedMs = nowMs();
  let refused: Error | null = null;
  let sessions = 0;
  const indices = Array.from({ length: count }, (_, index) => index).values();
  const work = async () => {
    for (const index of indices) {
      if (refused !== null) return;
      try {
        await open(index).welcomed;
        sessions++;
      } catch (error) {
        refused ??= error as Error;
      }
      // Of a session that had connected before, such as one that was replaced.
      refused ??= refusal();
    }
  };
  await Promise.all(Array.from({ length: Math.min(JOINING_MAX, count) }, work));
  return { sessions, ms: nowMs() - startedMs, refused };
}

/** Ends the sessions with close code 1000, and waits a moment for the service to take it. */
export async function leaveAll(stations: readonly Station[]): Promise<void> {
  for (const { radio } of stations) radio.leave();
  await Promise.race([
    Promise.all(stations.map(({ radio }) => radio.closed)),
    around(nowMs() + LEAVE_MS_MAX),
  ]);
  for (const { radio } of stations) radio.drop();
}

const LEAVE_MS_MAX = 1_000;
