// Creates the radio client of its parts: connection, talks, hearing, encryption, emergencies, positions.

import { closes } from '../../protocol/closes.js';
import type { Reach } from '../../protocol/codes.js';
import type { ServerMessage, Welcome } from '../../protocol/types.js';
import { systemClock } from '../clock.js';
import { relayAddress } from '../connection/address.js';
import type { Close } from '../connection/backoff.js';
import { createConnection, type RadioSocket } from '../connection/connection.js';
import { createRequests, RadioError } from '../connection/requests.js';
import { createEmergencies } from '../emergencies/emergencies.js';
import { createRaising } from '../emergencies/raising.js';
import { createEncryption } from '../encryption/encryption.js';
import { createEmitter } from '../events.js';
import { createHearing } from '../hearing/hearing.js';
import { createSubscriptions } from '../hearing/subscriptions.js';
import { createSyncing } from '../hearing/syncing.js';
import { createRecall, RECALL_SECONDS } from '../recall/recall.js';
import { createTalks } from '../talking/talks.js';
import type { Uplink } from '../talking/uplink.js';
import { createWatching } from '../watching/watching.js';
import type { Radio, RadioEvents, RadioOptions } from './described.js';

/** Starts to connect and returns the radio. Throws if `url` is not an address, or if there is no WebSocket to use. */
export function createRadio(options: RadioOptions): Radio {
  const { clock = systemClock, random = Math.random, WebSocket = globalWebSocket() } = options;
  const { recallSeconds = RECALL_SECONDS } = options;
  const events = createEmitter<RadioEvents>();
  const emergencies = createEmergencies(
    (emergency) => events.emit('emergency', emergency),
    (moved) => events.emit('emergency_position', moved),
  );
  const encryption = createEncryption(options.keys, clock, {
    opened: (talkgroupId, opened) => hearing.opened(talkgroupId, opened),
    released: (talkgroupId, session) => hearing.released(talkgroupId, session),
    unopened: (talkgroupId, first) => events.emit('unopened', { talkgroupId, ...first }),
    lock(talkgroupId, lock) {
      hearing.lock(talkgroupId, lock);
      const isUnexpected = lock.kind === 'clear' && encryption.isRequired(talkgroupId);
      events.emit('lock', { talkgroupId, ...lock, isUnexpected });
    },
    hasEmergency: (talkgroupId) =>
      [...emergencies.open.values()].some(
        ({ talkgroup_id, user_id }) => talkgroup_id === talkgroupId && user_id === userId,
      ),
    keyArrived: (talkgroupId) => talks.keyArrived(talkgroupId),
    forbidden: (talkgroupId) => recall.forget(talkgroupId),
  });
  const recall = createRecall(recallSeconds, clock, (forgotten) => events.emit('forgotten', forgotten));
  const hearing = createHearing(
    {
      audio(frame) {
        recall.keep(frame);
        events.emit('audio', frame);
      },
      talkStarted(talker) {
        recall.started(talker);
        events.emit('talk_started', talker);
      },
      talkEnded(end) {
        const recallId = recall.ended(end);
        events.emit('talk_ended', recallId === null ? end : { ...end, recallId });
      },
      lagged: (lag) => events.emit('lag', lag),
      missed: (missed) => events.emit('missed', missed),
      emergencies: emergencies.take,
      emergency: emergencies.follow,
      presence: (presence) => events.emit('presence', presence),
      talkgroupsChanged: () => events.emit('talkgroups', hearing.talkgroups),
      gap: (talkgroupId) => syncing.gap(talkgroupId),
      renewed: (talkgroupId) => syncing.settled(talkgroupId),
      left(talkgroupId) {
        syncing.settled(talkgroupId);
        emergencies.left(talkgroupId);
        recall.forget(talkgroupId);
      },
    },
    encryption,
  );
  let settle: { resolve(welcome: Welcome): void; reject(error: RadioError): void } | undefined;
  const firstOpened = new Promise<Welcome>((resolve, reject) => {
    settle = { resolve, reject };
  });
  firstOpened.catch(() => {}); // Node would end an app that does not wait for it
  let session: number | null = null;
  let userId = '';
  let reach: Reach = 'whole';
  /** Time of the server (Unix ms) when the last connection opened. null: none did. */
  let openedAtServerMs: number | null = null;

  const address = relayAddress(options);
  const connection = createConnection(
    {
      address: (resumeToken) =>
        resumeToken ? `${address}&resume=${encodeURIComponent(resumeToken)}` : address,
      ...{ WebSocket, clock, random },
    },
    { opened, message, waiting, stopped, frame: (bytes) => hearing.frame(bytes, clock.nowMs()) },
  );
  const isOpen = () => connection.state === 'open';
  const requests = createRequests(connection.ask, clock);
  const syncing = createSyncing(requests, clock, random);
  const subscriptions = createSubscriptions(requests, clock, random, hearing.leave);
  const raising = createRaising(requests, clock, isOpen);
  const watching = createWatching(requests, clock, random, (positions) =>
    events.emit('positions', positions),
  );
  const uplink: Uplink = {
    get isOpen() {
      return isOpen();
    },
    get openedAtMs() {
      return connection.openedAtMs;
    },
    get bufferedBytes() {
      return connection.bufferedBytes;
    },
    get session() {
      return session;
    },
    numberOf: (talkgroupId) => hearing.talkgroups.get(talkgroupId)?.number ?? null,
    isAwaited: hearing.isAwaited,
    encryption,
    send: connection.send,
    ask: connection.ask,
  };
  const talks = createTalks(uplink, clock, random);

  return {
    on: events.on,
    get state() {
      return connection.state;
    },
    opened: firstOpened,
    get session() {
      return session;
    },
    get reach() {
      return reach;
    },
    get gaps() {
      return syncing.gaps;
    },
    talkgroups: hearing.talkgroups,
    emergencies: emergencies.open,
    recall: {
      last: (talkgroupId, back) => recall.last(talkgroupId && known(talkgroupId), back),
      get: recall.get,
    },
    heardUntil: () =>
      openedAtServerMs === null
        ? null
        : Math.floor(openedAtServerMs + connection.heardAtMs - connection.openedAtMs),
    devices: watching.devices,
    watch: (asked) =>
      watching.watch(
        asked.talkgroupIds === undefined ? asked : { ...asked, talkgroupIds: asked.talkgroupIds.map(known) },
      ),
    unwatch: watching.unwatch,
    talk: (asked) => talks.begin({ ...asked, talkgroupId: known(asked.talkgroupId) }),
    isRequired: (talkgroupId) => encryption.isRequired(known(talkgroupId)),
    confirmClear: (talkgroupId) => encryption.confirmClear(known(talkgroupId)),
    subscribe: ({ talkgroupIds, ...asked }) =>
      subscriptions.subscribe({ ...asked, talkgroupIds: talkgroupIds.map(known) }),
    unsubscribe: (talkgroupIds) => subscriptions.unsubscribe(talkgroupIds.map(known)),
    async members(talkgroupId, page = {}) {
      const { type, ref, ...members } = await requests.askFor('MEMBERS', {
        ...{ type: 'MEMBERS', talkgroup_id: known(talkgroupId) },
        ...page,
      });
      return members;
    },
    emergency: {
      raise: (call) => raising.raise({ ...call, talkgroupId: known(call.talkgroupId) }),
      async ack(emergency_id) {
        await requests.askFor('OK', { type: 'EMERGENCY_ACK', emergency_id });
      },
      async clear(emergency_id) {
        await requests.askFor('OK', { type: 'EMERGENCY_CLEAR', emergency_id });
      },
    },
    async gps(fix) {
      await requests.askFor('OK', { type: 'GPS_UPDATE', ...fix });
    },
    async ping() {
      const sentAtMs = clock.nowMs();
      const { server_time } = await requests.askFor('PONG', { type: 'PING', t: Date.now() });
      return { rttMs: clock.nowMs() - sentAtMs, server_time };
    },
    request: requests.ask,
    reconnect: connection.reconnect,
    close: connection.close,
  };

  function opened(welcome: Welcome): void {
    session = welcome.session;
    openedAtServerMs = welcome.server_time;
    if (userId !== welcome.user_id) recall.forgetAll();
    userId = welcome.user_id;
    encryption.connected(userId);
    raising.connected();
    hearing.connected(welcome);
    subscriptions.connected(welcome);
    talks.connected(welcome);
    watching.connected();
    settle?.resolve(welcome); // first: a listener may stop the radio
    events.emit('open', welcome);
    reaches(welcome.reach ?? 'whole');
  }

  function reaches(now: Reach): void {
    if (now === reach) return;
    reach = now;
    events.emit('reach', now);
  }

  function message(message: ServerMessage): void {
    requests.answer(message);
    if (message.type === 'TALKGROUP_LEFT') subscriptions.left(message.talkgroup_id);
    hearing.message(message);
    talks.message(message);
    watching.message(message);
    if (message.type === 'EMERGENCY_POSITION') emergencies.moved(message);
    if (message.type === 'KEY_HOLDERS') options.keys?.retry?.();
    if (message.type === 'REACH') reaches(message.reach);
    events.emit('message', message);
  }

  function disconnected(): void {
    session = null;
    requests.disconnected();
    syncing.disconnected();
    subscriptions.disconnected();
    watching.disconnected();
    talks.connectionLost();
  }

  function waiting(next: Close & { delayMs: number }): void {
    disconnected();
    // The device may be lost, so it keeps no speech.
    if (next.code === closes.device_disabled.code) recall.forgetAll();
    events.emit('waiting', next);
  }

  function stopped(close: Close): void {
    disconnected();
    raising.stop();
    talks.stop();
    hearing.stop();
    recall.forgetAll();
    encryption.close();
    events.emit('stopped', close);
    settle?.reject(new RadioError('stopped', `the radio has stopped: ${close.reason || close.code}`));
  }
}

/** As the server writes ids. Apps may have them in capitals, as Swift does. */
const known = (talkgroupId: string): string => talkgroupId.toLowerCase();

function globalWebSocket(): new (address: string) => RadioSocket {
  const { WebSocket } = globalThis as { WebSocket?: new (address: string) => RadioSocket };
  if (!WebSocket) throw new Error('there is no global WebSocket: pass one as the option WebSocket');
  return WebSocket;
}
