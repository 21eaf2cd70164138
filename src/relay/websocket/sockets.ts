// Makes the callbacks of a socket: admission, messages, pings, a full buffer, the close. Each is wrapped, because a throw
// in one would end the process. Knows no uWebSockets.js: a socket is described here.

import { closes } from '../../protocol/closes.js';
import type { Churn } from '../delivery/churn.js';
import type { Peer } from '../delivery/peer.js';
import { type Counts, countOurClose, countRefused, type EngineDrop } from '../figures/counts.js';
import type { Admission, Handshake, Seat } from '../hub/admission.js';
import { byTurns } from './by-turns.js';
import type { Cap } from './cap.js';
import type { Carrier, Early, EarlyMessages } from './early.js';

/** A session as its socket uses it. */
export interface SocketSession extends Carrier {
  /** When its socket last sent anything (monotonic ms). */
  readonly heardAtMs: number;
  readonly reception: {
    /** The engine dropped messages for it. `isText`: one of our texts. */
    overrun(isText: boolean): void;
    /** Its send buffer is empty again. */
    drained(): void;
  };
  /** A WebSocket ping, which the engine has answered. */
  pinged(): void;
  ponged(payload: ArrayBuffer): void;
}

/** The relay as its sockets use it. */
export interface SocketRelay<S extends SocketSession> {
  readonly counts: Counts;
  readonly churn: Pick<Churn, 'passes'>;
  /** Loads what the session needs, and calls `done` exactly once. */
  admit(handshake: Handshake, done: (admission: Admission<S>) => void): void;
  /** The session says WELCOME on this socket. Must follow `done` in the same step. */
  open(seat: Seat<S>, peer: Peer): void;
  /** A socket is gone. */
  closed(session: S, code: number): void;
  /** A callback of this session threw: it alone ends. */
  fail(session: S, error: unknown): void;
}

/** What the engine carries for a socket. It copies the properties of what an upgrade hands it, hence the one more hop. */
export interface SocketData<S> {
  /** Of the token, verified before the handshake completes. null when it was rejected, and once it is seated. */
  claims: Handshake['claims'];
  /** Of the session it would go on with. null: a new one, and once it is admitted. */
  resume: string | null;
  readonly from: Handshake['from'];
  /** What arrived before WELCOME. null while nothing did, and once it is seated. */
  early: Early | null;
  /** null until it is seated. */
  session: S | null;
  closed: boolean;
}

/** A socket as its callbacks use it. The WebSocket of uWebSockets.js has this shape. */
export interface Socket<S> extends Peer {
  getUserData(): SocketData<S>;
  getBufferedAmount(): number;
  cork(act: () => void): unknown;
}

export interface SocketsOptions {
  readonly cap: Pick<Cap, 'isOver' | 'leaves'>;
  readonly early: Pick<EarlyMessages, 'of'>;
  /** Called for each socket that is closed because the server ends. null: it has no session. */
  readonly onRestart: (session: Pick<SocketSession, 'heardAtMs'> | null) => void;
  readonly log: { error(fields: object, message: string): void };
}

/** Of a socket whose handshake this was. */
export const socketData = <S>({ claims, resume, from }: Handshake): SocketData<S> => ({
  claims,
  resume,
  from,
  early: null,
  session: null,
  closed: false,
});

type Guarded = (callback: string, act: () => void) => void;

/** Logs a throw, with the name of the callback. */
export const guardedBy =
  (log: SocketsOptions['log']): Guarded =>
  (callback, act) => {
    try {
      act();
    } catch (error) {
      log.error({ callback, err: error }, 'relay callback failed');
    }
  };

export function socketCallbacks<S extends SocketSession>(relay: SocketRelay<S>, options: SocketsOptions) {
  const { cap } = options;
  const guarded = guardedBy(options.log);
  /** A throw ends the one session it met. */
  const ofSession = (ws: Socket<S>, act: (session: S) => void) => {
    const { session } = ws.getUserData();
    if (session === null) return;
    try {
      act(session);
    } catch (error) {
      relay.fail(session, error);
    }
  };
  /** Of a socket that waits for WELCOME. false from `act`: it floods, and is closed. */
  const ofWaiting = (ws: Socket<S>, act: (early: Early) => boolean) => {
    const data = ws.getUserData();
    const { claims } = data;
    if (claims === null) return;
    guarded('early message', () => {
      data.early ??= options.early.of(claims.sub);
      if (act(data.early)) return;
      countRefused(relay.counts, closes.rate_limited);
      ws.end(closes.rate_limited.code, closes.rate_limited.reason);
    });
  };
  const receiveEarly = (ws: Socket<S>, message: ArrayBuffer, isBinary: boolean) => {
    if (ws.getUserData().claims !== null) ofWaiting(ws, (early) => early.receive(message, isBinary));
    else if (isBinary) relay.counts.dropped.no_session++;
    else relay.counts.textsDropped.no_session++;
  };
  const admit = (ws: Socket<S>) => {
    const data = ws.getUserData();
    if (data.closed) return;
    if (cap.isOver()) {
      countRefused(relay.counts, closes.overloaded);
      return ws.end(closes.overloaded.code, closes.overloaded.reason);
    }
    const { claims, resume, from } = data;
    relay.admit({ claims, resume, from }, (admission) =>
      guarded('seat', () => seat(ws, data, admission, relay)),
    );
  };
  return {
    // Not in this callback: its writes are corked with the handshake, and a close in it waits 15 s for the peer's.
    open: byTurns((ws: Socket<S>) => guarded('admission', () => admit(ws))),

    message(ws: Socket<S>, message: ArrayBuffer, isBinary: boolean): void {
      const { session } = ws.getUserData();
      if (session === null) return receiveEarly(ws, message, isBinary);
      try {
        if (isBinary) session.receiveAudio(message);
        else session.receiveText(message);
      } catch (error) {
        relay.fail(session, error);
      }
    },

    dropped(ws: Socket<S>, message: ArrayBuffer, isBinary: boolean): void {
      relay.counts.overruns++;
      const { session } = ws.getUserData();
      if (session === null) return;
      try {
        session.reception.overrun(isText(message, isBinary));
      } catch (error) {
        // Not in the middle of the engine's own walk through its topics: the end of a socket frees what it stands on.
        setImmediate(relay.fail, session, error);
      }
    },

    drain(ws: Socket<S>): void {
      if (ws.getBufferedAmount() === 0) ofSession(ws, ({ reception }) => reception.drained());
    },

    ping(ws: Socket<S>): void {
      if (ws.getUserData().session === null) ofWaiting(ws, (early) => early.pinged());
      else ofSession(ws, (session) => session.pinged());
    },

    pong(ws: Socket<S>, message: ArrayBuffer): void {
      const { session } = ws.getUserData();
      if (session === null) return ofWaiting(ws, (early) => early.pinged());
      // As in `message`, with no closure for each of thousands.
      try {
        session.ponged(message);
      } catch (error) {
        relay.fail(session, error);
      }
    },

    close(ws: Socket<S>, code: number, message: ArrayBuffer): void {
      cap.leaves();
      relay.churn.passes();
      const data = ws.getUserData();
      if (code === closes.restart.code) options.onRestart(data.session);
      data.closed = true;
      guarded('close', () => data.early?.drop());
      // Around it once more: the socket that a failed session is closed with is gone already.
      guarded('close', () =>
        ofSession(ws, (session) => {
          const drop = readDrop(code, message);
          if (drop !== null) countOurClose(relay.counts, drop);
          relay.closed(session, code);
        }),
      );
    },
  };
}

function seat<S extends SocketSession>(
  ws: Socket<S>,
  data: SocketData<S>,
  admission: Admission<S>,
  relay: SocketRelay<S>,
): void {
  if (data.closed) return;
  if ('close' in admission) return ws.end(admission.close.code, admission.close.reason);
  // A quarter of a KiB that an idle radio would keep for nothing.
  data.claims = null;
  data.resume = null;
  data.session = admission.session;
  try {
    // One write for all it is told at once.
    ws.cork(() => relay.open(admission, ws));
    data.early?.carryOut(admission.session);
  } catch (error) {
    relay.fail(admission.session, error);
    if (!data.closed) ws.end(closes.internal.code, closes.internal.reason); // it may not have had its socket yet
  }
  data.early = null;
}

/** Whether the engine dropped one of our texts. It names a ping, too, as if it were a text. (Tried on both releases.) */
const isText = (message: ArrayBuffer, isBinary: boolean) =>
  !isBinary && new Uint8Array(message)[0] === OPENING_BRACE;

const OPENING_BRACE = 0x7b;

/** Why the engine dropped it. null for any other end. 1006 never arrives: its text is the engine's, not a client's. */
function readDrop(code: number, message: ArrayBuffer): EngineDrop | null {
  if (code !== 1006 || message.byteLength === 0) return null;
  return ENGINE_WORDS.get(Buffer.from(message).toString()) ?? null;
}

/** In the words of both releases of the engine in 3.0.6. A message that is too big for it ends before it is read, hence without a 1009. */
const ENGINE_WORDS: ReadonlyMap<string, EngineDrop> = new Map([
  ['Received too big message', 'message too big'],
  ['WebSocket timed out from inactivity', 'timed out'],
]);
