// Moves sessions to the relay where their radios return: gives those of this relay away, and fetches those of others.
import type { UserId } from '../../ids.js';
import type { MovedSession } from '../cluster/moves/bodies.js';
import type { MovableSessions, Wanted } from '../cluster/moves/moves.js';
import type { Emergencies } from '../emergencies/emergencies.js';
import type { FloorControl } from '../floor/control.js';
import {
  asRemote,
  endInTurn,
  goOn,
  goOnInTurn,
  mayGoOn,
  mayGoOnAs,
  movedBurst,
  movedTalk,
  takeUp,
} from '../floor/moved.js';
import type { RemoteBurst, RemoteServices } from '../floor/remote.js';
import { hasPart, type Talk } from '../floor/talk.js';
import { isInEmergency, type Membership, type User } from '../members/members.js';
import { MOVED_TALKGROUPS_MAX, restore, stateOf, talksOf } from '../session/moving.js';
import { keyOf, type Parking, relayOf } from '../session/parking.js';
import type { Session } from '../session/session.js';
import type { Sessions } from './sessions.js';
import type { Sharing } from './sharing.js';

export interface MovingOptions {
  readonly sessions: Sessions;
  readonly parking: Parking<Session>;
  readonly newSession: (number: number, user: User) => Session;
  readonly floor: FloorControl;
  readonly emergencies: Pick<Emergencies, 'raisedBy' | 'adopt'>;
  readonly sharing: Pick<Sharing, 'cluster' | 'movedOn'>;
  readonly remote: RemoteServices;
  readonly counts: { missed: number };
  readonly limits: { readonly resumeMs: number; readonly sessionsParked: number };
  /** The relay ends soon: it fetches no session. */
  readonly closing: () => boolean;
  readonly log: { info(fields: object, message: string): void };
}

/** A handshake with the token of a session that another relay may have. */
export interface Seeking {
  /**
   * Makes the session one of this relay, in which the user must be held. The token resumes it then. Changes nothing
   * elsewhere before the account is read, and nothing when `isRefused` says that the handshake is over.
   */
  fetch(
    arriving: { readonly user: User; readonly issuedAt: number },
    isRefused: () => boolean,
  ): Promise<void>;
  /** Behind the answer to the handshake: a session that it did not open is kept for the next one. */
  settle(): void;
}

type MovedClaim = MovedSession['claims'][number];

/** Later bursts were played here. */
const COLLISION = { over: 'collision' } as const;
const NOT_AS_IT_IS = { over: 'mode' } as const;
/** Without other relays. */
const NO_FLOOR = { over: 'disconnected' } as const;

export type Moving = ReturnType<typeof createMoving>;

export function createMoving(options: MovingOptions) {
  const { sessions, parking, newSession, floor, emergencies, sharing, remote } = options;
  const { counts, limits, closing, log } = options;
  const { nowMs } = remote;

  /** Everything in one step: behind it the session is not here any more, and its old socket is closed. */
  function leave(session: Session, to: number): MovedSession {
    const at = nowMs();
    const { behind, ...state } = stateOf(session, at);
    const moved: MovedSession = {
      ...state,
      behind: behind && { ...behind, missed: mostMissed(behind.missed) },
      claims: [],
      left_ms: parking.leftMs(session, at) ?? limits.resumeMs,
      raises: [...emergencies.raisedBy(session.user.id)],
    };
    for (const talk of talksOf(session)) {
      const burst = asRemote(remote, talk);
      // First: what becomes of its claim here concerns no session.
      session.uplink.forget(talk);
      floor.lose(talk, true, at);
      handOver(to, talk, burst);
    }
    for (const talk of [...session.talks()])
      if (hasPart(talk) && talk.talkgroup.floorMode !== 'open') leaveFloor(session, talk, moved, to, at);
    session.letGo();
    const heard = [...session.user.memberships.values()]; // before the user is forgotten
    session.end('disconnected');
    for (const { talkgroup } of heard) sharing.movedOn(talkgroup);
    log.info({ session: session.number, user: session.user.id, relay: to }, 'session given to another relay');
    return moved;
  }

  /** The burst of a session that goes to another relay is played here as one of that relay. */
  function handOver(to: number, { talkgroup }: Talk, burst: RemoteBurst): void {
    sharing.cluster()?.streamOf(talkgroup)?.handOver(to, burst.talker, burst, nowMs());
  }

  /** What the talk has in `single` or `broadcast` goes along. The old socket hears that a question ends here. */
  function leaveFloor(session: Session, talk: Talk, moved: MovedSession, to: number, at: number): void {
    const { talkgroup, number } = talk;
    if (talk.ask !== null) return floor.lose(talk, true, at);
    const left = sharing.cluster()?.floors.leave(talkgroup, session.number, at);
    if (!left) return;
    moved.claims.push({ number, ...left, ...movedTalk(talk) });
    if (talk.claim === 'talks') {
      moved.talks.push(movedBurst(talk, at));
      handOver(to, talk, asRemote(remote, talk));
    }
    session.uplink.forget(talk);
  }

  /** The claim goes on here, as it was in `single` or `broadcast` elsewhere. */
  function enterFloor(session: Session, membership: Membership, moved: MovedSession, of: MovedClaim): void {
    const { talkgroup, user } = membership;
    const at = nowMs();
    const claim = { ...of.claim, user: user.id };
    const burst = moved.talks.find(({ number }) => number === of.number);
    const talk = session.uplink.talks.of(membership, at);
    if ((claim.state === 'talks') !== (burst !== undefined)) return;
    const isPast = burst !== undefined && claim.turn !== null && !mayGoOn(talk, burst, claim.turn);
    const isUnfit = burst !== undefined && !mayGoOnAs(membership, burst.crypto !== undefined);
    const { placed, place } = of;
    const floors = sharing.cluster()?.floors;
    const enter = () => floors?.enter(talkgroup, { claim, placed, ...(place && { place }) }, at) ?? NO_FLOOR;
    const is = isUnfit ? NOT_AS_IT_IS : isPast ? COLLISION : enter();
    if (typeof is === 'string' && is !== 'asks') {
      takeUp(talk, of, is);
      if (is === 'talks' && burst !== undefined) goOnInTurn(remote, talk, burst);
      floors?.entered(talkgroup, at);
      const inEmergency = isInEmergency(membership);
      if (inEmergency !== claim.inEmergency) floor.followEmergency(talkgroup, user.id, inEmergency, at);
      return;
    }
    const code = typeof is === 'string' ? 'disconnected' : is.over;
    if (burst !== undefined && claim.turn !== null) endInTurn(remote, talk, burst, claim.turn, code);
    else if (burst !== undefined) remote.tapes.endMoved(talk, burst, code);
    // What is still in flight must not begin another burst.
    if (burst !== undefined && code !== 'disconnected') talk.mute(at);
  }

  function enter(user: User, issuedAt: number, key: string, moved: MovedSession): Session | null {
    if (sessions.byNumber.has(moved.session)) return null;
    const session = newSession(moved.session, user);
    session.issuedAt = issuedAt;
    user.sessions.add(session);
    sessions.add(session);
    parking.adopt(session, key);
    sessions.attempt(session, () => {
      const at = nowMs();
      restore(session, moved, { nowMs: at, counts });
      emergencies.adopt(user.id, moved.raises);
      for (const claim of moved.claims) {
        const membership = user.memberships.get(claim.number);
        if (membership !== undefined) enterFloor(session, membership, moved, claim);
      }
      const claimed = new Set(moved.claims.map(({ number }) => number));
      for (const burst of moved.talks) {
        const membership = user.memberships.get(burst.number);
        if (membership === undefined || claimed.has(burst.number)) continue;
        goOn({ ...remote, floor }, session.uplink.talks.of(membership, at), burst);
        sharing.cluster()?.streamOf(membership.talkgroup)?.cameHere(session.number);
      }
    });
    return session;
  }

  /** It was fetched, and its radio is gone. */
  function keep(session: Session, leftMs: number): void {
    if (session.isLive || sessions.byNumber.get(session.number) !== session) return;
    const at = nowMs();
    for (const talk of talksOf(session)) floor.lose(talk, false, at);
    parking.park(session, at, Math.min(leftMs, limits.resumeMs));
  }

  function movableAt(key: string, user: string): Session | null {
    const session = parking.at(hashOf(key), user as UserId);
    return session === null || isTooBig(session) ? null : session;
  }

  const movable: MovableSessions = {
    keepMs: limits.resumeMs,
    max: limits.sessionsParked,
    has: (key, user) => movableAt(key, user) !== null,
    give(key, user, to) {
      const session = movableAt(key, user);
      if (session === null) return null;
      let moved: MovedSession | null = null;
      sessions.attempt(session, () => {
        moved = leave(session, to);
      });
      return moved;
    },
  };

  return {
    movable,

    /** Begins to look for the session. null: no other relay can have it. */
    seek(token: string | null, user: UserId): Seeking | null {
      const named = token === null ? null : relayOf(token);
      if (token === null || named === null) return null;
      const key = keyOf(token);
      if (parking.at(key, user) !== null) return null;
      const wanted: Wanted = { key: Buffer.from(key, 'latin1').toString('base64url'), user };
      const moves = sharing.cluster()?.moves ?? null;
      const finding = moves?.find(named, wanted) ?? null;
      if (moves === null || finding === null) return null;
      let fetched: { readonly session: Session; readonly leftMs: number } | null = null;
      return {
        async fetch({ user: held, issuedAt }, isRefused) {
          const relay = await finding;
          if (relay === null || closing() || isRefused()) return;
          const moved = await moves.take(relay, wanted);
          if (moved === null || isRefused()) return;
          const session = enter(held, issuedAt, key, moved);
          if (session !== null) fetched = { session, leftMs: moved.left_ms };
        },
        settle() {
          if (fetched !== null) keep(fetched.session, fetched.leftMs);
        },
      };
    },
  };
}

const hashOf = (key: string) => Buffer.from(key, 'base64url').toString('latin1');

/** As many talkgroups as the message may have. Of those beyond it, which missed least, the frames until it hears again are not told. */
export function mostMissed<Missed extends { readonly frames: number }>(missed: readonly Missed[]): Missed[] {
  if (missed.length <= MOVED_TALKGROUPS_MAX) return [...missed];
  return missed.toSorted((one, other) => other.frames - one.frames).slice(0, MOVED_TALKGROUPS_MAX);
}

const isTooBig = ({ reception }: Session) => (reception.subscriptions?.size ?? 0) > MOVED_TALKGROUPS_MAX;
