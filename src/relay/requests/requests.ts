// Answers the JSON messages of clients: within their rates, read, and handed to the function for their type.
import { readId } from '../../ids.js';
import type { ClientMessage, ClientMessageOf, ClientMessageType } from '../../protocol/client-messages.js';
import { closes } from '../../protocol/closes.js';
import type { TextRefusal } from '../../protocol/codes.js';
import { textOf } from '../../protocol/server-messages.js';
import type { Ask } from '../delivery/ask.js';
import type { Counts } from '../figures/counts.js';
import type { Times } from '../session/services.js';
import type { Session } from '../session/session.js';
import type { Asker, RequestServices } from './asker.js';
import { acknowledge, clear, raise } from './emergencies.js';
import { releaseFloor, requestFloor } from './floor.js';
import { listMembers } from './members.js';
import { storeFix } from './positions.js';
import { readMessage } from './read.js';
import { subscribe, sync, unsubscribe } from './subscriptions.js';
import { unwatch, watch } from './watching.js';

/** By type of message. Each answers at once, or when the database has answered. */
const answers: {
  readonly [Type in ClientMessageType]: (asker: Asker, asked: ClientMessageOf<Type>) => void | Promise<void>;
} = {
  PING: ({ session, services }, { t, ref }) =>
    session.send(textOf({ type: 'PONG', ref, t, server_time: services.unixMs() })),
  GPS_UPDATE: storeFix,
  WATCH: watch,
  UNWATCH: unwatch,
  SUBSCRIBE: subscribe,
  UNSUBSCRIBE: unsubscribe,
  SYNC: sync,
  MEMBERS: listMembers,
  FLOOR_REQUEST: requestFloor,
  FLOOR_RELEASE: releaseFloor,
  EMERGENCY_RAISE: raise,
  EMERGENCY_ACK: acknowledge,
  EMERGENCY_CLEAR: clear,
};

/** Answered also while the user's permissions are in doubt: FLOOR_REQUEST with retry_later. */
const HARMLESS: ReadonlySet<ClientMessageType> = new Set(['PING', 'FLOOR_REQUEST', 'FLOOR_RELEASE']);

/** The question without an answer that this text must wait for: of a talkgroup that the text names, and whose floor it is about. */
function askBefore(session: Session, asked: ClientMessage): Ask | null {
  const named = talkgroupsIn(asked);
  if (named.length === 0) return null;
  for (const { ask, talkgroup } of session.talks())
    if (ask !== null && named.some((id) => readId(id) === talkgroup.id)) return ask;
  return null;
}

/** An emergency waits for nothing, and MEMBERS is not about the floor. */
function talkgroupsIn(asked: ClientMessage): readonly string[] {
  switch (asked.type) {
    case 'FLOOR_REQUEST':
    case 'FLOOR_RELEASE':
    case 'SYNC':
      return [asked.talkgroup_id];
    case 'SUBSCRIBE':
    case 'UNSUBSCRIBE':
      return asked.talkgroup_ids;
    default:
      return [];
  }
}

export interface RequestsOptions extends RequestServices {
  readonly limits: { readonly textBytes: number };
  readonly counts: Pick<Counts, 'textsIn' | 'textsRefused'>;
  /** A bug in an answer that came later: only this session ends. */
  readonly fail: (session: Session, error: unknown) => void;
}

export function createRequests(services: RequestsOptions) {
  const { limits, counts, fail } = services;

  function answer(session: Session, asked: ClientMessage, times: Times): void {
    // The user's permissions are in doubt for the moment: the session is shown nothing, and nothing is done for it.
    if (session.user.withdrawn && !HARMLESS.has(asked.type))
      return session.refuseText('unavailable', { ref: asked.ref });
    const ask = askBefore(session, asked);
    if (ask !== null) return wait(ask, session, asked, times);
    const answering = answers[asked.type]({ session, services, ...times }, asked as never); // of the same type, by the table
    answering?.catch((error) => fail(session, error)); // only a bug gets here
  }

  /** Behind what the session asked of floor control. Its rates counted it when it came. */
  function wait(ask: Ask, session: Session, asked: ClientMessage, { arrivedAtMs }: Times): void {
    const isKept = ask.keepText((nowMs) => answer(session, asked, { nowMs, arrivedAtMs }));
    if (!isKept) session.refuseText('rate_limited', { ref: asked.ref });
  }

  return {
    /** One text message, at its rate of `arrivedAtMs`. The engine has checked that it is UTF-8. */
    receive(session: Session, message: ArrayBuffer, times: Times): void {
      const { arrivedAtMs } = times;
      const allowance = session.allowance(arrivedAtMs);
      counts.textsIn++;
      if (message.byteLength > limits.textBytes) return session.close(closes.too_big);
      if (allowance.isFloodOfTexts(arrivedAtMs)) return session.close(closes.rate_limited);
      const reading = readMessage(Buffer.from(message).toString('utf8'));
      if (reading.kind === 'bad') {
        if (allowance.isTooManyBad(arrivedAtMs)) return session.close(closes.rate_limited);
        return session.refuseText(reading.code, { ref: reading.ref });
      }
      const { message: asked } = reading;
      if (!allowance.take(arrivedAtMs) || !allowance.takeOf(asked.type, arrivedAtMs))
        return refuseRate(session, asked);
      answer(session, asked, times);
    },
  };

  /** Only a request with a `ref` is told: the answers must not be a flood themselves. */
  function refuseRate(session: Session, { ref }: ClientMessage): void {
    const code: TextRefusal = 'rate_limited';
    if (ref !== undefined) session.refuseText(code, { ref });
    else counts.textsRefused[code]++;
  }
}
