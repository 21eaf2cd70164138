// Builds a relay from its own instances of token verifier, SQL client and WebSocket engine.
import { randomInt } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import type { MessagePort } from 'node:worker_threads';
import type { VerifyToken } from '../auth/tokens.js';
import type { Config } from '../config/config.js';
import { keyTags } from '../credentials/key-tags.js';
import type { Database } from '../db/client.js';
import { deadlineIn, READ_MS_MAX, REQUEST_MS } from '../db/deadline.js';
import { type Notice, noticeOf, type Question } from '../db/notice.js';
import { listenForNotices, type NoticeListener } from '../db/notices.js';
import { storeReport } from '../db/session-reports.js';
import { databaseTag } from '../db/tag.js';
import { descriptorsMax } from '../descriptors.js';
import {
  accountsOf,
  devicesOf,
  devicesOfTalkgroup,
  nextSessionBlock,
  SESSION_BLOCK,
  talkgroupsOf,
} from '../directory/store.js';
import { acknowledgeEmergency, clearEmergency, raiseEmergency } from '../emergencies/store.js';
import { ConfigError } from '../errors.js';
import { openFixIntake } from '../gps/counts.js';
import type { UserId } from '../ids.js';
import { withoutZeros } from '../log.js';
import { trustIn } from '../proxies.js';
import { certificateFiles } from '../tls/certificate.js';
import { systemClock } from './clock.js';
import { type Log, openBus } from './compose/bus.js';
import { createRelay, type RelayOptions } from './hub/relay.js';
import type { Bus } from './nodes/bus.js';
import type { RelayFigures, RelaySide } from './relay-side.js';
import { refOf } from './requests/read.js';
import { ENGINE_PINGS_PER_SECOND } from './session/allowance.js';
import { createSessionNumbers, type SessionNumbers } from './session/numbers.js';
import { EarlyMessages } from './websocket/early.js';
import { createEngine, type Listening } from './websocket/engine.js';
import { createRenewals } from './websocket/renewals.js';

/** A relay on this thread, which always answers. */
interface RelayHere extends RelaySide {
  listen(as?: Listening): Promise<number>;
  figures(): Promise<readonly [RelayFigures]>;
  /** A change notification of the database, for which the main thread listens. */
  noticed(notice: Notice | Question): void;
  /** Some of them may have been missed. */
  gap(): void;
  /** Whether `located` has something to do. */
  wantsFixes(): boolean;
  /** So many bytes of recorded speech are in memory no more. */
  stored(bytes: number): void;
  /** So many were not handed to `located`, because this thread did not read. */
  missedFixes(count: number): void;
  /** Drops all connections at once, for a thread that ends by an error. */
  abandon(): void;
}

/** One of several relay threads. The main thread listens to the database for all of them. */
export interface ThreadPlace {
  /** From 0. */
  readonly index: number;
  /** The same for all of them (u32), and another one for those of another process. */
  readonly node: number;
  /** In each line of its log, in labels of metrics, and in the name of its connection to NATS. */
  readonly name: string;
  /** Relay threads of the process. */
  readonly threads: number;
  /** One to each other relay thread. */
  readonly ports: readonly MessagePort[];
  /** Ids of their relays, each at its index. 0: it has none yet. */
  readonly relays: Uint32Array<SharedArrayBuffer>;
  /** The connections of all of them, which share SOCKETS_MAX. */
  readonly openOfAll: Int32Array<SharedArrayBuffer>;
}

/** How many handshakes may wait for the database. */
export interface Handshakes {
  /** Loaded by one query. */
  readonly loading: number;
  /** Beyond these. One more is closed with 1013. */
  readonly waiting: number;
}

/** After a lost network 10,000 radios come back at once. */
export const HANDSHAKES: Handshakes = { loading: 50, waiting: 10_000 };

/** Between two looks whether the other relay threads can be reached (ms). It takes a few milliseconds in all. */
const LOOK_MS = 5;

const MB = 1024 * 1024;

/** Descriptors that the database, the log or a restart of either may need when all others are taken. */
const DESCRIPTORS_OF_OTHERS = 64;

export interface RelaySideOptions {
  readonly config: Config;
  readonly handshakes: Handshakes;
  readonly url: string;
  readonly database: Database;
  readonly verifyToken: VerifyToken;
  /** Without it this is the only relay of the process. */
  readonly place?: ThreadPlace | null;
  /** Takes recorded speech of this relay to be stored. */
  readonly taped: RelayOptions['taped'];
  readonly authorityOf?: RelayOptions['authorityOf'] | undefined;
  readonly log: Log;
}

export function composeRelay(options: RelaySideOptions): RelayHere {
  const { config, handshakes, url, database, verifyToken, taped, authorityOf, place = null, log } = options;
  const read = () => deadlineIn(READ_MS_MAX);
  const write = () => deadlineIn(REQUEST_MS);
  const actor = (id: UserId) => ({ id, name: null, way: 'relay' }) as const;
  // Requests of clients must not take the reads of handshakes and change notifications.
  const rightsDatabase = { ...database, read: database.readReserved };
  const fixes = openFixIntake(database, (stored) => relay.located(stored, true));
  let numbers: SessionNumbers | null = null;
  let notices: NoticeListener | null = null;
  let bus: Bus | null = null;
  let isJoined = false;
  let isStarted = false;
  let isClosing = false;

  /** The same for all relays of this node, and for no other ones. */
  const node = `${hostname()} ${process.pid} ${(place?.node ?? randomInt(2 ** 32)).toString(36)}`;
  const files = certificateFiles(config);
  const engine = createEngine({
    host: config.HOST,
    port: config.WS_PORT,
    tls: files,
    frameBytes: config.FRAME_BYTES,
    textBytes: config.TEXT_BYTES,
    idleTimeoutS: config.IDLE_TIMEOUT_S,
    origins: {
      listed: config.CORS_ORIGINS,
      consolePort: config.CONSOLE === 'on' ? config.PORT : null,
    },
    isTrusted: trustIn(config.TRUST_PROXY),
    socketsMax: config.SOCKETS_MAX,
    openOfAll: place?.openOfAll ?? null,
    descriptorMax: descriptorsMax() - config.REST_CONNECTIONS - DESCRIPTORS_OF_OTHERS,
    log,
  });
  const renewals = createRenewals({ files, addServerNames: engine.addServerNames });
  const relay = createRelay({
    verifyToken,
    started: () => isStarted,
    reads: {
      accountsOf: (users, isHeld) => accountsOf(rightsDatabase, read, users, isHeld),
      talkgroupsOf: (ids) => talkgroupsOf(rightsDatabase, read, ids),
    },
    takeNumber: () => numbers?.take() ?? null,
    publisher: engine.publisher,
    limits: {
      frameBytes: config.FRAME_BYTES,
      framesPerSecond: config.FRAMES_PER_SECOND,
      userBytesPerSecond: config.USER_BYTES_PER_SECOND,
      userDeliveriesPerSecond: config.USER_DELIVERIES_PER_SECOND,
      talksPerUser: config.TALKS_PER_USER,
      talkersMax: config.TALKERS_MAX,
      textBytes: config.TEXT_BYTES,
      controlPerSecond: config.TEXTS_PER_SECOND,
      talkSilenceMs: config.TALK_SILENCE_MS,
      backlogMs: config.BACKLOG_MS,
      lagPingMs: config.LAG_PING_MS,
      loadWindowMs: config.LOAD_WINDOW_MS,
      loadPercent: config.LOAD_PERCENT,
      recordingBytes:
        config.RECORDING_GB === 0 ? 0 : (config.RECORDING_MEMORY_MB * MB) / (place?.threads ?? 1),
      resumeMs: config.RESUME_MS,
      sessionsParked: Math.ceil(config.RESUMABLE_SESSIONS / (place?.threads ?? 1)),
      drainMs: config.DRAIN_MS,
      socketsPerUser: config.SOCKETS_PER_USER,
      upgradesLoading: handshakes.loading,
      upgradesWaiting: handshakes.waiting,
    },
    emergencyWrites: {
      async raise(talkgroup, { id, user_id, raised_at, lat, lng, alt }) {
        const notice = noticeOf({ kind: 'emergency_changed', talkgroup });
        await raiseEmergency(database, write(), {
          ...{ id, user: user_id, talkgroup, raisedAt: raised_at },
          ...{ lat, lng, alt, notice },
        });
        return notice;
      },
      acknowledge: (id, by) => acknowledgeEmergency(database, write(), { id, by: actor(by) }),
      clear: (id, { id: by, mayDispatch }) =>
        clearEmergency(database, write(), { id, by: actor(by), mayDispatch }),
    },
    taped,
    storeFix: (fix) => fixes.storeFix(write(), fix),
    storeReport: (ask, report) =>
      storeReport(database, {
        ...{ ask, report, node },
        ...{ thread: place?.name ?? 'relay', threads: place?.threads ?? 1 },
      }),
    positionReads: {
      ofTalkgroup: (talkgroup, max) => devicesOfTalkgroup(database, read, { talkgroup, max }),
      ofDevices: (ids) => devicesOf(database, read, ids),
    },
    ...{ authorityOf, clock: systemClock, log },
  });
  const early = new EarlyMessages({
    counts: relay.counts,
    limits: {
      framesPerSecond: config.FRAMES_PER_SECOND,
      controlPerSecond: config.TEXTS_PER_SECOND,
      pingsPerSecond: ENGINE_PINGS_PER_SECOND,
    },
    refOf,
    nowMs: systemClock.nowMs,
  });

  /** Rejects when the credentials cannot be read, or a server refuses them, the subjects or our longest message. */
  async function joinBus(): Promise<void> {
    const { NATS_URL: urls, NATS_CREDENTIALS_FILE: credentialsFile, NATS_PREFIX } = config;
    const name = ['talkgroup-radio', hostname(), process.pid, ...(place === null ? [] : [place.name])].join(
      ' ',
    );
    const prefix = `${NATS_PREFIX}.1`; // the version of what the relays say to each other
    const nats = urls === undefined ? null : { urls, credentialsFile, prefix, name };
    const opened = await openBus({ siblings: place, nats, isClosing: () => isClosing, log });
    bus = opened?.bus ?? null;
    const reason = (await opened?.rejected) ?? null;
    if (reason === null) return;
    throw new ConfigError(
      `NATS_URL and NATS_CREDENTIALS_FILE must be accepted by the NATS server. It says: ${reason}`,
    );
  }

  /** The relay has the id of its first session number, which no other relay ever has. So it joins before any session. */
  async function nextBlock(): Promise<number> {
    const tag = bus === null || isJoined ? 0 : await databaseTag(database, read());
    const first = await nextSessionBlock(database, write());
    if (bus !== null && !isJoined) {
      isJoined = true;
      if (place !== null) Atomics.store(place.relays, place.index, first); // before it says a word
      relay.join({ relay: first, database: tag, bus, node: place?.node ?? null, keys: keyTags(config) });
    }
    return first;
  }

  /** So that from the first session on, radios of one talkgroup hear each other on whichever threads they are. */
  async function siblingsReached(): Promise<void> {
    const count = place?.ports.length ?? 0;
    while (!isClosing && count > 0 && (relay.figures().cluster?.siblings ?? 0) < count) await delay(LOOK_MS);
  }

  function noticed(notice: Notice | Question): void {
    relay.noticed(notice).catch((error) => log.error({ err: error }, 'change notification failed'));
  }

  // The main thread tells each relay thread, so only one of them tells the other nodes.
  const tellsNodes = place === null || (place.index === 0 && config.NATS_URL !== undefined);

  return {
    listen: (as) => engine.listen(relay, early, as),
    async start() {
      await joinBus();
      if (isClosing) return;
      numbers = createSessionNumbers(nextBlock, { size: SESSION_BLOCK, clock: systemClock, log });
      await siblingsReached();
      if (isClosing) return;
      isStarted = true;
      if (place === null)
        notices = listenForNotices({ url, database, onNotice: noticed, onGap: relay.gap, log });
    },
    notice: tellsNodes ? relay.notice : relay.noticed,
    located: (stored) => relay.located(stored, tellsNodes),
    wantsFixes: () => relay.wantsFixes(tellsNodes),
    stored: relay.tapesStored,
    missedFixes(count) {
      relay.counts.positions.dropped += count;
    },
    noticed,
    gap: relay.gap,
    trouble() {
      if (!isStarted) return 'starting';
      return engine.isFull() ? 'no room for another socket' : database.trouble();
    },
    figures: async () => [
      { ...relay.figures(), fixes: fixes.counts, connections: engine.connections(), own: null },
    ],
    present: async (certificate) => renewals.present(certificate),
    abandon: engine.abandon,
    async close() {
      isClosing = true;
      await relay.close();
      numbers?.close();
      await Promise.all([engine.close(), relay.stored(), relay.left()]);
      await bus?.close();
      await notices?.close();
      log.info({ counts: withoutZeros(relay.counts) }, 'relay closed');
    },
  };
}
