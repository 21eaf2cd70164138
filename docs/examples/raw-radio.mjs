// The radio of radio.mjs without the library, on the WebSocket of Node 22 or newer (Node 20: --experimental-websocket).
//   node docs/examples/raw-radio.mjs listen URL TOKEN [BURSTS]
//   node docs/examples/raw-radio.mjs talk URL TOKEN TALKGROUP_ID FILE.ogg
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { crc32 } from 'node:zlib';

const [command, url, token, ...rest] = process.argv.slice(2);

// ---- Audio frames: a header of 16 bytes, then the payload.

const VERSION_1_AUDIO = 0x40;
const START = 0x08;
const END = 0x04;

function encodeFrame({ flags, sequence, number, payload }) {
  const frame = new Uint8Array(16 + payload.length);
  const header = new DataView(frame.buffer);
  header.setUint8(0, VERSION_1_AUDIO | flags);
  header.setUint16(2, sequence & 0xffff);
  header.setUint32(4, number); // of the talkgroup
  frame.set(payload, 16); // the relay fills in session and burst, bytes 8 to 15
  return frame;
}

function decodeFrame(bytes) {
  const header = new DataView(bytes);
  if ((header.getUint8(0) & 0xf0) !== VERSION_1_AUDIO) return null; // a kind that we did not ask for
  return {
    sequence: header.getUint16(2),
    number: header.getUint32(4),
    session: header.getUint32(8),
    burst: header.getUint32(12),
    payload: new Uint8Array(bytes, 16),
  };
}

// ---- The connection: opens, resumes, notices a dead link, waits as the close code asks.

let socket = null;
let session = null; // null until WELCOME
let resumeToken = null;
let failures = 0;
let openedAtMs = 0;
let heardAtMs = 0;
let goAwayUntilMs = 0;

function connect() {
  const resume = resumeToken === null ? '' : `&resume=${encodeURIComponent(resumeToken)}`;
  const opening = new WebSocket(`${url}/ws?token=${encodeURIComponent(token)}${resume}`);
  opening.binaryType = 'arraybuffer';
  opening.onmessage = ({ data }) => {
    if (opening !== socket) return; // of a socket that we gave up
    heardAtMs = Date.now();
    if (typeof data === 'string') receiveText(JSON.parse(data));
    else receiveFrame(decodeFrame(data));
  };
  opening.onclose = ({ code, reason }) => opening === socket && lose(code, reason);
  socket = opening;
  heardAtMs = Date.now();
}

function lose(code, reason) {
  if (session !== null && Date.now() - openedAtMs >= 5_000) failures = 0;
  session = null;
  socket = null;
  if (code === 1000 || (code === 1008 && reason !== 'device disabled')) {
    console.log(`stopped: ${code} ${reason}`);
    process.exit(code === 1000 ? process.exitCode : 1);
  }
  const delayMs = waitMs(code, reason);
  console.log(`connection lost: ${code} ${reason}, next attempt in ${Math.round(delayMs)} ms`);
  setTimeout(connect, delayMs);
}

function waitMs(code, reason) {
  const jitterMs = Math.random() * Math.min(30_000, 500 * 2 ** failures++);
  if (code === 1008) return 45_000 + Math.random() * 30_000; // device disabled
  if (code === 1013 && reason === 'rate_limited') return 30_000 + jitterMs;
  if (code === 1013) return 5_000 + Math.max(jitterMs, Math.random() * 5_000);
  return Math.max(0, goAwayUntilMs - Date.now()) + jitterMs;
}

// TCP can take minutes to notice a dead link. After 15 s of silence we ask, after 10 s more we give up.
setInterval(() => {
  const quietMs = Date.now() - heardAtMs;
  if (socket === null || quietMs < 15_000) return;
  if (quietMs < 25_000) return send(JSON.stringify({ type: 'PING', t: Date.now() }));
  const dead = socket;
  lose(1006, 'no answer');
  dead.close();
}, 5_000).unref();

function send(data) {
  if (session !== null) socket.send(data);
}

function close() {
  if (socket === null) process.exit();
  socket.close(1000); // for good: the session is not kept
}

// ---- What the server tells: talkgroups from snapshots, talkers from events.

const talkgroups = new Map(); // by talkgroup_id: the snapshot, with `event` kept current
const running = new Map(); // by session and burst number: what we heard of it

function receiveText(message) {
  switch (message.type) {
    case 'WELCOME':
      session = message.session;
      resumeToken = message.resume_token;
      openedAtMs = Date.now();
      goAwayUntilMs = 0;
      console.log(message.resumed ? 'resumed' : 'connected');
      talkgroups.clear(); // what we knew is out of date
      for (const snapshot of message.talkgroups) takeSnapshot(snapshot);
      ownTalk?.connected(message);
      return;
    case 'SUBSCRIBED': // further talkgroups after WELCOME, or state that is repeated
      for (const snapshot of message.talkgroups) takeSnapshot(snapshot);
      return;
    case 'SYNCED':
    case 'TALKGROUP_JOINED':
      return takeSnapshot(message);
    case 'TALKGROUP_LEFT':
      leave(message);
      break;
    case 'TALKGROUP_CHANGED':
      Object.assign(talkgroups.get(message.talkgroup_id) ?? {}, message);
      return;
    case 'LAG':
      console.log('audio was skipped'); // an app drops all audio that it has not played yet
      return;
    case 'GOAWAY':
      goAwayUntilMs = Date.now() + message.reconnect_after_ms;
      return;
    case 'TALK_STARTED':
      if (isNew(message)) begin(message);
      break;
    case 'TALK_ENDED':
      if (isNew(message)) end(message);
      break;
    case 'EMERGENCY':
    case 'KEY_ROTATED':
      isNew(message);
      break;
    default: // a message that we do not use or do not know
  }
  ownTalk?.message(message);
}

function takeSnapshot(snapshot) {
  talkgroups.set(snapshot.talkgroup_id, snapshot);
  const listed = new Set(snapshot.talkers.map(({ session, burst }) => `${session}/${burst}`));
  for (const [key, { talkgroup_id }] of running) {
    if (talkgroup_id === snapshot.talkgroup_id && !listed.has(key)) finish(key, 'lost');
  }
  for (const talker of snapshot.talkers) begin(talker);
}

/** Its bursts are not heard to their end. */
function leave({ talkgroup_id }) {
  talkgroups.delete(talkgroup_id);
  for (const [key, heard] of running) if (heard.talkgroup_id === talkgroup_id) finish(key, 'left');
}

/** False for an event that the snapshot includes. After a gap it asks for a new snapshot, not at once. */
function isNew({ talkgroup_id, event }) {
  const talkgroup = talkgroups.get(talkgroup_id);
  if (!talkgroup || event <= talkgroup.event) return false;
  const sync = JSON.stringify({ type: 'SYNC', talkgroup_id, ref: 'sync' });
  if (event > talkgroup.event + 1) setTimeout(send, Math.random() * 2_000, sync);
  talkgroup.event = event;
  return true;
}

// ---- Listening.

let burstsLeft = command === 'listen' ? Number(rest[0] ?? Number.POSITIVE_INFINITY) : 0;

function begin({ talkgroup_id, session: talker, burst, username }) {
  const key = `${talker}/${burst}`;
  if (talker === session || running.has(key)) return; // our own, or known
  running.set(key, { talkgroup_id, packets: 0, checksum: 0 });
  console.log(`${username} talks in ${talkgroups.get(talkgroup_id).name}`);
}

function receiveFrame(frame) {
  const heard = frame && running.get(`${frame.session}/${frame.burst}`);
  if (!heard || frame.payload.length === 0) return; // the END of a burst may be empty
  heard.packets += 1;
  heard.checksum = crc32(frame.payload, heard.checksum);
  // An app gives the payload to the jitter buffer of this talker here.
}

function end({ session: talker, burst, code }) {
  if (running.has(`${talker}/${burst}`)) finish(`${talker}/${burst}`, code);
}

function finish(key, code) {
  const { packets, checksum } = running.get(key);
  running.delete(key);
  console.log(`heard ${packets} packets, checksum ${checksum.toString(16)}: ${code}`);
  burstsLeft -= 1;
  if (burstsLeft === 0) close();
}

// ---- Talking.

const PACKET_MS = 20;

function createTalk(talkgroupId, packets) {
  let startPeriod = null; // the period of the burst's first frame, null before it
  let isRunning = false;
  let isSent = false;
  let isOver = false;
  let denials = 0; // with retry_later, since the last decision
  let askAgainAtMs = 0;

  return { connected, message };

  async function run() {
    const startedAtMs = performance.now();
    for (const [period, packet] of packets.entries()) {
      const earlyMs = startedAtMs + period * PACKET_MS - performance.now();
      if (earlyMs > 0) await sleep(earlyMs);
      if (isOver) return;
      isSent = period === packets.length - 1;
      transmit(period, packet, isSent);
    }
    await sleep(5_000); // the relay ends a silent burst after 2 s
    over('lost');
  }

  function transmit(period, payload, isLast) {
    if (performance.now() < askAgainAtMs) {
      if (isLast) over('retry_later'); // the button is released
      return;
    }
    const talkgroup = talkgroups.get(talkgroupId);
    // Speech that cannot leave now is dropped, never sent later.
    if (session === null || !talkgroup || socket.bufferedAmount > 2_048) return;
    const flags = (startPeriod === null ? START : 0) | (isLast ? END : 0);
    startPeriod ??= period;
    send(encodeFrame({ flags, sequence: period - startPeriod, number: talkgroup.number, payload }));
  }

  /** Starts the talk. After a lost connection the burst goes on if the server still has it. */
  function connected({ resumed, talkgroups_total }) {
    const talkgroup = talkgroups.get(talkgroupId);
    if (!talkgroup && talkgroups.size === talkgroups_total) return over('not_member');
    if (!resumed || !talkgroup?.talkers.some((talker) => talker.session === session)) startPeriod = null;
    if (!isRunning) void run();
    isRunning = true;
  }

  function message({ type, ref, talkgroup_id, session: talker, code, retry_ms }) {
    if (type === 'ERROR' && ref === undefined) return over(code); // about one of our frames
    if (talkgroup_id !== talkgroupId) return;
    if (type === 'TALKGROUP_LEFT') return over('not_member');
    if (type === 'FLOOR_DENIED' && code === 'retry_later' && !isSent && ++denials < 10)
      return askAgain(retry_ms);
    if (type === 'FLOOR_DENIED' || type === 'FLOOR_REVOKED') return over(code);
    if (talker !== session) return;
    if (type === 'TALK_STARTED') {
      denials = 0;
      console.log('talking');
    }
    if (type === 'TALK_ENDED' && isSent) over(code);
    else if (type === 'TALK_ENDED') startPeriod = null; // after 2 s of silence: the next frame begins another burst
  }

  /** No decision yet: sends nothing for `retry_ms` and up to half of it more. The next frame is then a new request. */
  function askAgain(retryMs) {
    askAgainAtMs = performance.now() + retryMs * (1 + Math.random() / 2);
    startPeriod = null;
  }

  function over(code) {
    if (isOver) return;
    isOver = true;
    const checksum = packets.reduce((sum, packet) => crc32(packet, sum), 0);
    console.log(`sent ${packets.length} packets, checksum ${checksum.toString(16)}: ${code}`);
    if (code !== 'released') process.exitCode = 1;
    close();
  }
}

/** The packets of an Ogg Opus file. */
function readOgg(file) {
  const packets = [];
  const parts = [];
  for (let at = 0; at < file.length; ) {
    const lengths = file.subarray(at + 27, at + 27 + file[at + 26]); // of the segments in this page
    at += 27 + lengths.length;
    for (const length of lengths) {
      parts.push(file.subarray(at, at + length));
      at += length;
      if (length < 255) packets.push(Buffer.concat(parts.splice(0))); // a shorter one ends a packet
    }
  }
  return packets.slice(2); // the first two are headers
}

const ownTalk = command === 'talk' ? createTalk(rest[0], readOgg(readFileSync(rest[1]))) : null;
connect();
