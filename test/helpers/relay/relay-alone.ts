// A relay without engine and database, and radios seated in it by hand.
import type { UserId } from '../../../src/ids.js';
import { type Clock, systemClock } from '../../../src/relay/clock.js';
import type { Peer } from '../../../src/relay/delivery/peer.js';
import type { Taping } from '../../../src/relay/floor/taping.js';
import type { Claims } from '../../../src/relay/hub/admission.js';
import type { From } from '../../../src/relay/hub/rejections.js';
import { createRelay, type Relay, type RelayOptions } from '../../../src/relay/hub/relay.js';
import type { Session } from '../../../src/relay/session/session.js';

/** Of a radio that is seated by hand. */
export const NOWHERE: From = { address: 'nowhere', client: null };

type Needed = Pick<RelayOptions, 'reads' | 'takeNumber' | 'publisher'>;

/** Limits are those of the configuration, but nothing is kept for a return and nothing waits. An error logged fails `t`. */
export const relayAlone = (
  t: { fail(message: string, fields: object): unknown },
  {
    limits,
    clock,
    logged = () => {},
    ...needed
  }: Needed &
    Partial<Pick<RelayOptions, 'verifyToken' | 'authorityOf' | 'emergencyWrites'>> & {
      readonly limits?: Partial<RelayOptions['limits']>;
      /** What it has not is that of the process. */
      readonly clock?: Partial<Clock>;
      /** A line without an error was logged. */
      readonly logged?: (message: string, fields: object) => void;
    },
): Relay =>
  createRelay({
    verifyToken: () => null,
    started: () => true,
    limits: {
      frameBytes: 1024,
      framesPerSecond: 110,
      userBytesPerSecond: 65_536,
      userDeliveriesPerSecond: 200_000,
      talksPerUser: 2,
      talkersMax: 32,
      textBytes: 8192,
      controlPerSecond: 20,
      talkSilenceMs: 2000,
      backlogMs: 1000,
      lagPingMs: 1000,
      loadWindowMs: 60,
      loadPercent: 85,
      recordingBytes: 8_000_000,
      resumeMs: 0,
      sessionsParked: 1,
      drainMs: 0,
      socketsPerUser: 32,
      upgradesLoading: 200,
      upgradesWaiting: 0,
      ...limits,
    },
    emergencyWrites: { raise: async () => null, acknowledge: async () => null, clear: async () => 'unknown' },
    storeFix: async () => true,
    taped() {},
    storeReport: async () => {},
    positionReads: {
      ofTalkgroup: async () => ({ devices: [], total: 0 }),
      ofDevices: async () => ({ devices: [], total: 0 }),
    },
    clock: { ...systemClock, ...clock },
    log: {
      info: (fields, message) => logged(message, fields),
      error: (fields, message) => t.fail(message, fields),
    },
    ...needed,
  });

/** Nothing is recorded. */
export const noTapes: Taping = { begin: () => null, goOn: () => null, endMoved() {} };

/** A socket that takes everything and says nothing. */
export const quietPeer = (over: Partial<Peer> = {}): Peer => ({
  send: () => 1,
  ping: () => 1,
  publish: () => true,
  subscribe: () => true,
  unsubscribe: () => true,
  getUserData: () => ({ session: null }),
  end() {},
  ...over,
});

/** Of a user whose id is the name. */
export const claimsOf = (name: string): Claims => ({ sub: name as UserId, iat: 0 });

/** The session of these claims, open on the socket. Rejects with the reason of a close. */
export const seated = (
  relay: Relay,
  claims: Claims,
  peer: Peer,
  resume: string | null = null,
): Promise<Session> =>
  new Promise((resolve, reject) => {
    relay.admit({ claims, resume, from: NOWHERE }, (admission) => {
      if ('close' in admission) return reject(new Error(admission.close.reason));
      relay.open(admission, peer);
      resolve(admission.session);
    });
  });
