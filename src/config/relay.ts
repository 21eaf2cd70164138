// Declares the settings of the relay (audio, talk bursts, sessions, shutdown) and of the log.
import { Type } from '../typebox.js';
import { MANY, settingsOf } from './setting.js';

const audio = settingsOf('Audio and talking');
const sessions = settingsOf('Sessions and shutdown');
const logging = settingsOf('Logging');

export const audioSettings = {
  FRAME_BYTES: audio.whole({
    level: 'tuning',
    unit: 'bytes',
    minimum: 64,
    maximum: 16_384,
    default: 1024,
    description: 'Largest payload of an audio frame.',
    beyond:
      'The client gets ERROR `bad_frame`. When the message is longer than `TEXT_BYTES` as well, the relay drops the connection.',
  }),
  FRAMES_PER_SECOND: audio.whole({
    level: 'tuning',
    unit: 'frames per second',
    minimum: 10,
    maximum: 10_000,
    default: 110,
    description: 'Audio frames of one session in one talkgroup.',
    beyond: 'The relay drops the frame, and the client gets ERROR `rate_limited`.',
    notes:
      'The burst is twice this number. All sockets of one user together may send twice this rate in one talkgroup.',
  }),
  USER_BYTES_PER_SECOND: audio.whole({
    level: 'tuning',
    unit: 'bytes per second',
    minimum: 16_384,
    maximum: 1_000_000_000,
    default: 65_536,
    description: 'Audio payload of all sockets of one user in one talkgroup.',
    beyond:
      'The relay drops the frame, and the client gets ERROR `rate_limited`. After 2 s the relay ends the newest talk burst of the user.',
    notes: 'The limit for all talkgroups together is eight times as high.',
  }),
  USER_DELIVERIES_PER_SECOND: audio.whole({
    level: 'tuning',
    unit: 'frames per second',
    minimum: 1000,
    maximum: 1_000_000_000,
    default: 200_000,
    description:
      'Frames that the relay sends to receivers for the sockets of one user, beyond one stream of FRAMES_PER_SECOND.',
    beyond:
      'The relay drops the frame, and the client gets ERROR `rate_limited`. After 2 s the relay ends the newest talk burst of the user.',
    notes:
      'One user in eight talkgroups of 1,000 receivers could otherwise use a whole core. A talk burst of its own is never limited, however many hear it.',
  }),
  TALKS_PER_USER: audio.whole({
    level: 'tuning',
    unit: 'talk bursts',
    minimum: 1,
    maximum: 10_000,
    default: 2,
    description: 'Simultaneous talk bursts of all sockets of one user in one talkgroup.',
    beyond: 'The client gets FLOOR_DENIED `busy`.',
  }),
  TALKERS_MAX: audio.whole({
    level: 'tuning',
    unit: 'talk bursts',
    minimum: 1,
    maximum: 10_000,
    default: 32,
    description: 'Simultaneous talk bursts in one `open` talkgroup.',
    beyond: 'The client gets FLOOR_DENIED `busy`.',
  }),
  TALK_SILENCE_MS: audio.whole({
    level: 'tuning',
    unit: 'ms',
    minimum: 200,
    maximum: 60_000,
    default: 2000,
    description: 'Silence of a talker that ends the talk burst (T1).',
    beyond: 'The relay ends the talk burst and releases the floor.',
    notes: 'Lower values release the floor earlier. Higher values tolerate longer gaps in the network.',
  }),
  BACKLOG_MS: audio.whole({
    level: 'tuning',
    unit: 'ms',
    minimum: 200,
    maximum: 60_000,
    default: 1000,
    description: 'Lag limit of a receiver.',
    beyond:
      'The relay pauses the audio of this receiver until it has caught up. Then it reports the number of missed frames (LAG).',
    notes:
      'Lower values keep speech fresher on bad links. Higher values tolerate longer stalls. Related: `LAG_PING_MS`, metric `talkgroup_relay_receivers_lagging`.',
  }),
  LAG_PING_MS: audio.whole({
    level: 'tuning',
    unit: 'ms',
    minimum: 0,
    maximum: 10_000,
    default: 1000,
    description: 'Interval of the pings that measure the lag of each receiver of audio.',
    notes:
      'A receiver that answers at once is pinged half as often. A stall of it is then noticed after at most `BACKLOG_MS` plus twice this time. At 0 the relay pings only after WELCOME, after parts of snapshots, and while a receiver lags. The lag of another receiver then shows only when its buffer is full, after minutes of speech. This saves 4 to 14 % of the CPU time of the relay.',
  }),
  LOAD_WINDOW_MS: audio.whole({
    level: 'tuning',
    unit: 'ms',
    minimum: 0,
    maximum: 100,
    default: 60,
    description:
      'Longest time for which the relay holds live audio under load, so that several frames leave in one write.',
    notes:
      'The relay holds audio in steps of 40, 60 and 100 ms, up to this value, and only while a relay thread is under load. Of frames of 20 ms the first one waits 20 ms less. The console and the client library follow without a gap: at 60 they then play speech about 50 ms later. Other clients need a jitter buffer that grows. Below 20 no write is saved. At 0 the relay never holds live audio.',
  }),
  LOAD_PERCENT: audio.whole({
    level: 'expert',
    unit: 'percent',
    minimum: 0,
    maximum: 100,
    default: 85,
    description: 'A relay thread that is busy for this share of its time holds live audio.',
    notes:
      'After 5 s below half of it the relay goes back by a step. At 0 it always holds live audio. Related: `LOAD_WINDOW_MS`.',
  }),
  TEXT_BYTES: audio.whole({
    level: 'expert',
    unit: 'bytes',
    minimum: 512,
    maximum: 65_536,
    default: 8192,
    description: 'Largest text message.',
    beyond:
      'The relay drops the connection. When the message is at most `FRAME_BYTES` + 16 bytes long, it closes the connection with 1009.',
  }),
  TEXTS_PER_SECOND: audio.whole({
    level: 'expert',
    unit: 'messages per second',
    minimum: 1,
    maximum: 1000,
    default: 20,
    description: 'Text messages of one session.',
    beyond: 'A message with `ref` gets ERROR `rate_limited`. The relay ignores a message without `ref`.',
    notes: 'The burst is three times this number.',
  }),
};

export const sessionSettings = {
  SOCKETS_MAX: Type.Optional(
    sessions.whole({
      level: 'tuning',
      unit: 'connections',
      minimum: 1,
      maximum: MANY,
      description: 'Connections to the WebSocket port.',
      beyond:
        'The relay closes the next handshakes with 1013 `overloaded`. It closes connections beyond 32 of these without an answer.',
      notes: 'All relay threads together.',
      unset: `The limit of open files minus 200 and minus \`REST_CONNECTIONS\`, at most ${MANY}.`,
    }),
  ),
  SOCKETS_PER_USER: sessions.whole({
    level: 'tuning',
    unit: 'sockets',
    minimum: 1,
    maximum: 10_000,
    default: 32,
    description: 'Sockets of one user.',
    beyond: 'The relay closes the longest-silent socket of this user with 1013 `replaced`.',
    notes: 'It is also the number of resumable sessions of one user. Each relay thread counts its own.',
  }),
  IDLE_TIMEOUT_S: sessions.whole({
    level: 'tuning',
    unit: 's',
    minimum: 8,
    maximum: 600,
    default: 60,
    description: 'Silence of a socket after which the relay drops it.',
    beyond: 'The relay pings the socket before. Without an answer it drops the connection.',
  }),
  RESUME_MS: sessions.whole({
    level: 'tuning',
    unit: 'ms',
    minimum: 0,
    maximum: 600_000,
    default: 60_000,
    description: 'Time for which the relay keeps a session after its socket has closed.',
    beyond: 'A client that returns later gets a new session (`resumed` is false).',
    notes: 'At 0 the relay keeps no session.',
  }),
  DRAIN_MS: sessions.whole({
    level: 'tuning',
    unit: 'ms',
    minimum: 0,
    maximum: 600_000,
    default: 5000, // `docker stop` kills after 10 s, and REST and the database end behind the sockets
    description: 'Longest time in which the relay closes its sockets after SIGTERM.',
    beyond: 'The relay closes the sockets of those that still talk.',
    notes:
      'Idle sockets close first, at most 1 ms apart, and talkers at the end of their talk burst. A container needs a `--stop-timeout` of 5 s more than this time.',
  }),
  RESUMABLE_SESSIONS: sessions.whole({
    level: 'expert',
    unit: 'sessions',
    minimum: 1,
    maximum: MANY,
    default: 20_000,
    description: 'Sessions without a socket that the relay keeps for a resume.',
    beyond: 'The relay evicts the oldest session of the user with the most of them.',
    notes: 'One user has at most `SOCKETS_PER_USER` of them. The relay threads share this number evenly.',
  }),
  RELAY_THREADS: sessions.whole({
    level: 'expert',
    unit: 'threads',
    minimum: 0,
    maximum: 16,
    default: 1,
    description: 'Threads of the relay beside the main thread.',
    notes:
      'Each uses one core at most. More than one needs Linux. At 0 the relay shares the main thread with REST, and REST requests delay audio.',
  }),
};

export const logSettings = {
  LOG_LEVEL: logging.choice(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], {
    level: 'basic',
    unit: 'choice',
    default: 'info',
    description: 'Lowest severity that the service logs.',
    notes: 'The log is JSON lines on standard error.',
  }),
};
