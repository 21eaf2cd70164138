// Sends REST requests of apps and dispatchers by the clock: reads, writes or both.
import { readUsage, sharesOf, spent } from '../../machine/conditions.js';
import type { Member } from '../../radios/member.js';
import { type Busy, type Performance, perform } from '../player.js';
import { createSender, encodeRequest, type Sent } from '../requests.js';

/**
 * `reads`: talkgroups and positions. `writes`: positions, joins and leaves. `mixed`: four reads, a position. The others ask
 * for one thing.
 */
export type Mix = 'reads' | 'writes' | 'mixed' | 'talkgroups' | 'members' | 'health';

export interface RestSetup {
  readonly url: string;
  readonly connectionsMax: number;
  /** Who asks, in turns: each with what its mix asks of, a device or a talkgroup. */
  readonly users: readonly Member[];
  readonly mix: Mix;
}

export interface RestPiece {
  /** By nowMs(). */
  readonly fromMs: number;
  readonly ms: number;
  /** null: the closed loop. */
  readonly perSecond: number | null;
}

export interface RestPlayed extends Busy {
  readonly sent: Sent;
}

type Ask = (user: Member, index: number) => Buffer;

perform<RestSetup, RestPiece, RestPlayed, null>(prepare);

async function prepare(setup: RestSetup): Promise<Performance<RestPiece, RestPlayed, null>> {
  const { url, connectionsMax, users, mix } = setup;
  const sender = createSender({ url, connectionsMax });
  const asks = MIXES[mix];
  let before = 0;

  /** Each user asks everything in turn, then the next one does. */
  function request(number: number): Buffer {
    const user = users[Math.floor(number / asks.length) % users.length];
    const ask = asks[number % asks.length];
    if (user === undefined || ask === undefined) throw new RangeError('requests come from users');
    return ask(user, number);
  }

  return {
    async play({ fromMs, ms, perSecond }) {
      const first = before;
      const usage = readUsage([]);
      const sent = await sender.play({ fromMs, ms, perSecond, request: (index) => request(first + index) });
      before += sent.requests;
      const { generatorShare } = sharesOf(spent(usage, readUsage([])));
      return { sent, generatorShare };
    },
    end: async () => null,
  };
}

const listTalkgroups: Ask = ({ token }) => encodeRequest({ method: 'GET', path: '/talkgroups', token });

const listMembers: Ask = ({ token, talkgroups }) =>
  encodeRequest({ method: 'GET', path: `/talkgroups/${talkgroups[0]?.id}/members`, token });

const askHealth: Ask = () => encodeRequest({ method: 'GET', path: '/healthz' });

const readPosition: Ask = ({ token, deviceId }) =>
  encodeRequest({ method: 'GET', path: `/devices/${deviceId}/gps`, token });

const reportPosition: Ask = ({ token, deviceId }, index) =>
  encodeRequest({
    method: 'POST',
    path: `/devices/${deviceId}/gps`,
    token,
    body: { lat: 52 + (index % 1000) / 1000, lng: 13, alt: 34 },
  });

const join: Ask = ({ token, talkgroups }) =>
  encodeRequest({ method: 'POST', path: `/talkgroups/${talkgroups[0]?.id}/join`, token });

const leave: Ask = ({ token, talkgroups }) =>
  encodeRequest({ method: 'DELETE', path: `/talkgroups/${talkgroups[0]?.id}/leave`, token });

const READS = [listTalkgroups, readPosition];
const FOUR_POSITIONS = Array.from({ length: 4 }, () => reportPosition);

const MIXES: Readonly<Record<Mix, readonly Ask[]>> = {
  reads: READS,
  writes: [...FOUR_POSITIONS, leave, ...FOUR_POSITIONS, join],
  mixed: [...READS, ...READS, reportPosition],
  talkgroups: [listTalkgroups],
  members: [listMembers],
  health: [askHealth],
};
