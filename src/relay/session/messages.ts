// Writes the messages that concern one session: WELCOME, SUBSCRIBED, SYNCED, TALKGROUP_JOINED, TALKGROUP_LEFT, ERROR.
import type { Ref, Refused, Snapshot } from '../../protocol/bodies.js';
import { type ErrorCode, errors } from '../../protocol/codes.js';
import { type Draft, type ServerMessageOf, textOf } from '../../protocol/server-messages.js';
import { budgetIn } from '../limits/budget.js';
import type { Talkgroup, User } from '../members/members.js';
import type { SessionServices } from './services.js';

/** What an ERROR names of the message or frame. */
export interface ErrorAbout {
  readonly ref?: Ref | undefined;
  readonly talkgroup_id?: string | undefined;
  readonly number?: number;
}

export const errorText = (code: ErrorCode, about: ErrorAbout) =>
  textOf({ type: 'ERROR', ...about, code, message: errors[code] });

/** The snapshots in one message. */
export interface Part {
  /** As JSON. */
  readonly snapshots: readonly string[];
  /** Others follow. */
  readonly more: boolean;
}

type Welcome = ServerMessageOf<'WELCOME'>;
type Subscribed = ServerMessageOf<'SUBSCRIBED'>;

/** The message, with its snapshots as the last field. */
const withSnapshots = (
  message: Draft<Omit<Welcome, 'talkgroups'> | Omit<Subscribed, 'talkgroups'>>,
  { snapshots }: Part,
) => `${JSON.stringify(message).slice(0, -1)},"talkgroups":[${snapshots.join(',')}]}`;

export const welcomeText = (
  { number, user }: { readonly number: number; readonly user: User },
  resume: { readonly resume_token: string; readonly resumed: boolean },
  { limits, unixMs, reach }: Pick<SessionServices<never>, 'limits' | 'unixMs' | 'reach'>,
  first: Part & { readonly total: number },
) =>
  withSnapshots(
    {
      type: 'WELCOME',
      protocol: 1,
      session: number,
      user_id: user.id,
      username: user.username,
      device_id: user.deviceId,
      ...resume,
      server_time: unixMs(),
      limits: {
        frame_bytes: limits.frameBytes,
        frames_per_second: limits.framesPerSecond,
        user_frames_per_second: budgetIn(limits).framesPerSecond,
        user_bytes_per_second: limits.userBytesPerSecond,
        talks_per_user: limits.talksPerUser,
        talkers_max: limits.talkersMax,
        text_bytes: limits.textBytes,
        backlog_ms: limits.backlogMs,
      },
      reach: reach(),
      talkgroups_total: first.total,
    },
    first,
  );

export const subscribedText = (part: Part, refused: readonly Refused[], ref: Ref | undefined) =>
  withSnapshots({ type: 'SUBSCRIBED', ref, more: part.more, refused }, part);

export const syncedText = (snapshot: Draft<Snapshot>, ref: Ref | undefined) =>
  textOf({ type: 'SYNCED', ref, ...snapshot });

export const talkgroupJoined = (snapshot: Draft<Snapshot>) =>
  textOf({ type: 'TALKGROUP_JOINED', ...snapshot });

export const talkgroupLeft = (talkgroup: Talkgroup, reason: 'left' | 'deleted') =>
  textOf({ type: 'TALKGROUP_LEFT', talkgroup_id: talkgroup.id, reason });
