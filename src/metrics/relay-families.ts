// Declares the metrics of the relay: sessions, handshakes, audio, receivers and the floor.
import type { Histogram } from '../histogram.js';
import type { RelayFigures } from '../relay/relay-side.js';
import { by, counter, type Family, gauge, histogram, type Times } from './family.js';
import type { Snapshot } from './snapshot.js';

export const relayFamilies: readonly Family[] = [
  // Sessions and handshakes.
  gauge(
    'talkgroup_relay_sessions',
    'Sessions with a socket (`live`) and detached sessions that can be resumed (`parked`)',
    ofRelay(({ present }) => by('state', { live: present.sessions, parked: present.parked })),
    ['state'],
  ),
  gauge(
    'talkgroup_relay_users',
    'Users with a session, live or detached. Each relay thread counts its own',
    ofRelay(({ present }) => present.users),
  ),
  gauge(
    'talkgroup_relay_talkgroups',
    'Talkgroups of which a user with a session is a member. Each relay thread counts its own',
    ofRelay(({ present }) => present.talkgroups),
  ),
  gauge(
    'talkgroup_relay_handshakes_loading',
    'Handshakes that wait for the database',
    ofRelay(({ counts }) => counts.handshakes.loading),
  ),
  counter(
    'talkgroup_relay_handshakes_admitted_total',
    'Handshakes that opened or resumed a session',
    ofRelay(({ counts }) => counts.handshakes.admitted),
  ),
  gauge(
    'talkgroup_relay_connections',
    'Connections to WS_PORT, including those before their handshake',
    ofRelay(({ connections }) => connections.open),
  ),
  gauge(
    'talkgroup_relay_connections_max',
    'Maximum number of connections to WS_PORT (SOCKETS_MAX)',
    ofRelay(({ connections }) => connections.max),
  ),
  counter(
    'talkgroup_relay_connections_dropped_total',
    'Connections to WS_PORT closed without an answer, above SOCKETS_MAX or for lack of a file descriptor',
    ofRelay(({ connections }) => connections.dropped),
  ),
  counter(
    'talkgroup_relay_handshakes_refused_total',
    'Handshakes answered with a close, by close reason',
    ofRelay(({ counts }) => by('reason', counts.handshakes.refused)),
    ['reason'],
  ),
  counter(
    'talkgroup_relay_sessions_resumed_total',
    'Sessions resumed on another socket',
    ofRelay(({ counts }) => counts.resumed),
  ),
  counter(
    'talkgroup_relay_sessions_forgotten_total',
    'Detached sessions evicted before RESUME_MS, for lack of room',
    ofRelay(({ counts }) => counts.forgotten),
  ),
  counter(
    'talkgroup_relay_sessions_failed_total',
    'Sessions closed with 1011 because of a server error',
    ofRelay(({ counts }) => counts.failed),
  ),
  counter(
    'talkgroup_relay_sockets_closed_total',
    'Closed sockets of sessions, by close code. 1006 is a connection that was lost or dropped',
    ofRelay(({ counts }) => by('code', counts.closed)),
    ['code'],
  ),
  counter(
    'talkgroup_relay_closes_total',
    'Sockets of sessions that the relay closed or dropped, by reason',
    ofRelay(({ counts }) => by('reason', counts.closes)),
    ['reason'],
  ),
  counter(
    'talkgroup_relay_messages_received_total',
    'Text messages received from sessions',
    ofRelay(({ counts }) => counts.textsIn),
  ),
  counter(
    'talkgroup_relay_messages_dropped_total',
    'Text messages received and not delivered to a session, by reason',
    ofRelay(({ counts }) => by('reason', counts.textsDropped)),
    ['reason'],
  ),
  counter(
    'talkgroup_relay_messages_refused_total',
    'Text messages answered with ERROR, by its code',
    ofRelay(({ counts }) => by('reason', counts.textsRefused)),
    ['reason'],
  ),
  counter(
    'talkgroup_relay_http_refusals_total',
    'Requests to WS_PORT answered without an upgrade, by HTTP status',
    ofRelay(({ counts }) => by('status', counts.notUpgraded)),
    ['status'],
  ),

  // Audio.
  gauge(
    'talkgroup_relay_bursts',
    'Running talk bursts',
    ofRelay(({ present }) => present.bursts),
  ),
  counter(
    'talkgroup_relay_bursts_started_total',
    'Talk bursts started',
    ofRelay(({ counts }) => counts.bursts),
  ),
  counter(
    'talkgroup_relay_bursts_ended_total',
    'Talk bursts ended, by the code of TALK_ENDED',
    ofRelay(({ counts }) => by('reason', counts.floor.ended)),
    ['reason'],
  ),
  counter(
    'talkgroup_relay_frames_received_total',
    'Audio frames received from sessions',
    ofRelay(({ counts }) => counts.framesIn),
  ),
  counter(
    'talkgroup_relay_frames_relayed_total',
    'Audio frames accepted and relayed',
    ofRelay(({ counts }) => counts.framesRelayed),
  ),
  counter(
    'talkgroup_relay_frames_dropped_total',
    'Audio frames received and not relayed, by reason',
    ofRelay(({ counts }) => by('reason', counts.dropped)),
    ['reason'],
  ),
  counter(
    'talkgroup_relay_frames_sent_total',
    'Audio frames sent to receivers, from the number of receivers counted every 50 ms',
    ofRelay(({ sampled }) => sampled.framesOut),
  ),
  counter(
    'talkgroup_relay_frames_discarded_total',
    'Buffered audio frames discarded because their burst was revoked',
    ofRelay(({ counts }) => counts.discarded),
  ),
  counter(
    'talkgroup_relay_received_bytes_total',
    'Bytes of relayed frames, estimated from one frame every 50 ms',
    ofRelay(({ sampled }) => sampled.bytesIn),
  ),
  counter(
    'talkgroup_relay_sent_bytes_total',
    'Bytes of relayed frames sent to receivers, estimated from one frame every 50 ms',
    ofRelay(({ sampled }) => sampled.bytesOut),
  ),
  gauge(
    'talkgroup_relay_load_window_seconds',
    'Time for which live audio is held under load, of the relay thread that holds it longest. 0 without load',
    ofRelay(({ load }) => load.windowMs / 1000),
  ),
  counter(
    'talkgroup_relay_load_seconds_total',
    'Time in which live audio was held under load, by the length of the window in seconds, all relay threads together',
    ofRelay(({ load }) =>
      by('window', Object.fromEntries(Object.entries(load.seconds).map(([ms, s]) => [Number(ms) / 1000, s]))),
    ),
    ['window'],
  ),
  counter(
    'talkgroup_relay_frames_held_total',
    'Audio frames that waited for others under load before they were sent to live receivers',
    ofRelay(({ counts }) => counts.framesHeld),
  ),
  histogram(
    'talkgroup_relay_latency_seconds',
    'Time from the receipt of a frame to its write to the receivers, for one frame every 50 ms',
    timesOfRelay(({ sampled }) => sampled.latency),
  ),

  // Receivers that do not keep up.
  gauge(
    'talkgroup_relay_receivers_lagging',
    'Receivers with audio paused because they lag',
    ofRelay(({ counts }) => counts.behind),
  ),
  counter(
    'talkgroup_relay_receivers_lagged_total',
    'Number of times the relay paused the audio of a receiver',
    ofRelay(({ counts }) => counts.lagging),
  ),
  counter(
    'talkgroup_relay_frames_missed_total',
    'Frames that receivers missed while their audio was paused, counted per receiver',
    ofRelay(({ counts }) => counts.missed),
  ),
  gauge(
    'talkgroup_relay_backlog_seconds',
    'Largest lag of a receiver with an unanswered ping',
    ofRelay(({ pulse }) => pulse.lagMsMax / 1000),
  ),
  counter(
    'talkgroup_relay_overruns_total',
    'Number of times a full send buffer of a receiver dropped a message',
    ofRelay(({ counts }) => counts.overruns),
  ),
  counter(
    'talkgroup_relay_stray_pongs_total',
    'Pongs that match no ping',
    ofRelay(({ counts }) => counts.strayPongs),
  ),

  // The floor.
  counter(
    'talkgroup_floor_requests_total',
    'FLOOR_REQUEST messages received',
    ofRelay(({ counts }) => counts.floor.requests),
  ),
  counter(
    'talkgroup_floor_queued_total',
    'FLOOR_REQUEST messages queued',
    ofRelay(({ counts }) => counts.floor.queued),
  ),
  counter(
    'talkgroup_floor_granted_total',
    'Floor grants, to requests and to first frames',
    ofRelay(({ counts }) => counts.floor.granted),
  ),
  counter(
    'talkgroup_floor_denied_total',
    'Requests and first frames denied, by code',
    ofRelay(({ counts }) => by('reason', counts.floor.denied)),
    ['reason'],
  ),
  gauge(
    'talkgroup_floor_waiting',
    'Queued sessions, summed over all talkgroups',
    ofRelay(({ present }) => present.queued),
  ),
  histogram(
    'talkgroup_floor_wait_seconds',
    'Time from queuing to the grant',
    timesOfRelay(({ counts }) => counts.floor.waits),
  ),

  // Positions.
  gauge(
    'talkgroup_position_watchers',
    'Sessions that watch positions',
    ofRelay(({ present }) => present.watchers),
  ),
  counter(
    'talkgroup_position_messages_total',
    'POSITIONS made once for all sessions that watch a talkgroup (`shared`), POSITIONS made for one session (`single`), and EMERGENCY_POSITION (`emergency`)',
    ofRelay(({ counts: { positions } }) =>
      by('to', { shared: positions.published, single: positions.sent, emergency: positions.emergencies }),
    ),
    ['to'],
  ),
  counter(
    'talkgroup_positions_dropped_total',
    'Stored positions that a relay thread did not get from REST (`thread`) or from another relay (`bus`). The next one of the device replaces them',
    ofRelay(({ counts, cluster }) =>
      by('reason', { thread: counts.positions.dropped, bus: cluster?.counts.fixesDropped ?? 0 }),
    ),
    ['reason'],
  ),
];

/** Reads a figure of the relay. Shows nothing until the relay thread has answered. */
function ofRelay<T>(read: (relay: RelayFigures) => T): (now: Snapshot) => T | null {
  return ({ relay }) => relay && read(relay);
}

function timesOfRelay(read: (relay: RelayFigures) => Histogram): Times {
  return ({ relay }) => (relay === null ? [] : [[{}, read(relay)]]);
}
