// The limits of one user with sockets on two relay threads: what the other members are sent of it.
import assert from 'node:assert/strict';
import t from 'tap';
import { HEADER_BYTES } from '../../src/protocol/frame.js';
import { eventually } from '../helpers/eventually.js';
import { areOnline, radioOn, twoThreads } from '../helpers/service/relay-threads.js';
import {
  connect,
  type Json,
  type Person,
  type Radio,
  type Service,
  service,
} from '../helpers/service/service.js';
import { scoutPorts } from '../helpers/service/two-threads.js';

const SOCKETS = 32;
const THREADS = 2;
const TALKS_PER_USER = 2;
const USER_BYTES_PER_SECOND = 65_536;
const FRAMES_PER_SECOND = 110;
const FRAME_BYTES = 1000;

const over = (t: Parameters<typeof service>[0], environment: Record<string, string> = {}) =>
  service(t, { RELAY_THREADS: `${THREADS}`, RESUME_MS: '0', ...environment });

/** Ann, and a talkgroup that she shares with a member on each thread. */
async function crewOf(s: Service) {
  const threads = await twoThreads(await s.person('scout'));
  const [ann, bob, cid] = [await s.person('ann'), await s.person('bob'), await s.person('cid')];
  const group = await s.talkgroup('fire', ann, bob, cid);
  const members = [await radioOn(threads[0], bob), await radioOn(threads[1], cid)] as const;
  return { threads, ann, group, members };
}

/** So many sockets of the person, on the threads by turns. */
async function socketsOf(person: Person, threads: readonly number[], count: number): Promise<Radio[]> {
  const sockets: Radio[] = [];
  while (sockets.length < count)
    sockets.push(await radioOn(threads[sockets.length % threads.length] ?? 0, person));
  return sockets;
}

const isOf =
  ({ session }: Radio) =>
  (message: Json) =>
    message.session === session;

/** Most bursts of the user that run at once, as the radio is told. */
function burstsAtOnce({ messages }: Radio, user: string): number {
  const running = new Set<unknown>();
  let most = 0;
  for (const { type, session, user_id } of messages) {
    if (type === 'TALK_STARTED' && user_id === user) running.add(session);
    if (type === 'TALK_ENDED') running.delete(session);
    most = Math.max(most, running.size);
  }
  return most;
}

t.test('bursts of one user on both threads count together', async (t) => {
  const s = await over(t, { TALK_SILENCE_MS: '60000' });
  const { threads, ann, group, members } = await crewOf(s);
  const [a1, b1, a2, b2] = await socketsOf(ann, threads, 4);
  assert.ok(a1 && b1 && a2 && b2);
  for (const radio of [a1, b1]) {
    radio.speaks(group.number, 'hello', { start: true });
    for (const member of members) await member.hears('TALK_STARTED', isOf(radio));
  }
  for (const radio of [a2, b2]) {
    radio.speaks(group.number, 'hello', { start: true });
    t.match(await radio.hears('FLOOR_DENIED'), { code: 'busy', talker: { username: 'ann' } });
    const queues = { type: 'FLOOR_REQUEST', talkgroup_id: group.id, queue: true };
    t.match(await radio.asks(queues), { type: 'FLOOR_DENIED', code: 'busy' });
  }
  a1.speaks(group.number, '', { end: true });
  for (const member of members) await member.hears('TALK_ENDED', isOf(a1));
  b2.speaks(group.number, 'now', { start: true });
  for (const member of members) await member.hearsText('now');
});

t.test(
  `a user that floods from ${SOCKETS} sockets on both threads is cut to its budget on each`,
  { timeout: 120_000 },
  async (t) => {
    const s = await over(t);
    const { threads, ann, group, members } = await crewOf(s);
    const sockets = await socketsOf(ann, threads, SOCKETS);
    for (const member of members) await areOnline(member, group.id, SOCKETS + members.length);
    const heard = members.map((member) => {
      const of = { frames: 0, lastAtMs: 0 };
      member.socket.on('message', (message: Buffer, isBinary: boolean) => {
        if (!isBinary || message.byteLength !== HEADER_BYTES + FRAME_BYTES) return;
        of.frames++;
        of.lastAtMs = performance.now();
      });
      return of;
    });
    const startedAtMs = performance.now();
    const payload = 'x'.repeat(FRAME_BYTES);
    const periodMs = 50;
    let round = 0;
    // Those that were denied try again, and those that talk send as much as one session may.
    const flood = setInterval(() => {
      const tries = round++ % 10 === 0;
      for (const radio of sockets) {
        const { talks } = stateOf(radio);
        const frames = talks ? (FRAMES_PER_SECOND * periodMs) / 1000 : 1;
        for (let frame = 0; frame < frames; frame++)
          radio.speaks(group.number, payload, { start: tries && !talks });
      }
    }, periodMs);
    t.teardown(() => clearInterval(flood));
    /** What the user hears of its own bursts. */
    const states = new Map<number, { talks: boolean }>();
    const stateOf = ({ session }: Radio) => {
      const state = states.get(session) ?? { talks: false };
      states.set(session, state);
      return state;
    };
    for (const radio of sockets)
      radio.socket.on('message', (data: Buffer, isBinary: boolean) => {
        if (isBinary) return;
        const { type, session } = JSON.parse(data.toString()) as Json;
        if (session === radio.session && type === 'TALK_STARTED') stateOf(radio).talks = true;
        if (session === radio.session && type === 'TALK_ENDED') stateOf(radio).talks = false;
      });
    const ends = (member: Radio) => member.messages.filter(({ code }) => code === 'rate_limited').length;
    await eventually(() => {
      for (const member of members) assert.ok(ends(member) >= 3, `${ends(member)} bursts ended`);
    }, 20_000);
    clearInterval(flood);
    for (const [at, member] of members.entries()) {
      await member.settled();
      const { frames, lastAtMs } = heard[at] ?? { frames: 0, lastAtMs: 0 };
      const seconds = (lastAtMs - startedAtMs) / 1000;
      // The amount of one second may come at once.
      const bytesMax = THREADS * USER_BYTES_PER_SECOND * (seconds + 1);
      t.ok(frames * FRAME_BYTES <= bytesMax, `${frames} frames in ${seconds.toFixed(1)} s`);
      t.ok(frames * FRAME_BYTES > bytesMax / 8, `${frames} frames: what the budget allows is relayed`);
      const most = burstsAtOnce(member, ann.id);
      t.ok(most <= THREADS * TALKS_PER_USER, `${most} bursts at once`);
    }
  },
);

t.test('SOCKETS_PER_USER holds on each thread', async (t) => {
  const s = await over(t, { SOCKETS_PER_USER: '2' });
  const ann = await s.person('ann');
  // Another socket would take the place of one on its thread, so none may come to a thread by chance.
  const ports = scoutPorts(t, { ws: s.ws, scout: async () => (await s.person('scout')).token });
  const radioAt = async (turn: number) => {
    const { localPort } = await ports.toTurn(turn);
    return connect(t, `${s.ws}/ws?token=${ann.token}`, { localPort });
  };
  const [oldest, ...others] = [await radioAt(0), await radioAt(1), await radioAt(0), await radioAt(1)];
  assert.ok(oldest);
  for (const radio of others) await radio.settled(); // so that the first is the longest silent
  const fifth = await radioAt(0);
  t.match(await oldest.closes(), { code: 1013, reason: 'replaced' });
  for (const radio of [...others, fifth]) await radio.settled();
});
