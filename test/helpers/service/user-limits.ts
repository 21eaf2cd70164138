// One user with sockets at two relays, of two threads or of two nodes: what the other members are sent of it.
import assert from 'node:assert/strict';
import type { Test } from 'tap';
import { HEADER_BYTES } from '../../../src/protocol/frame.js';
import { eventually } from '../eventually.js';
import { areOnline } from './relay-threads.js';
import type { Json, Person, Radio, Service } from './service.js';

const SOCKETS = 32;
const RELAYS = 2;
const TALKS_PER_USER = 2;
const USER_BYTES_PER_SECOND = 65_536;
const FRAMES_PER_SECOND = 110;
const FRAME_BYTES = 1000;

/** A service of two relays. */
export interface TwoRelays extends Pick<Service, 'person' | 'talkgroup'> {
  /** A radio of the person at one of them: 0 or 1. */
  radioAt(relay: number, person: Person): Promise<Radio>;
}

/** Ann, and a talkgroup that she shares with a member at each relay. */
async function crewOf(s: TwoRelays) {
  const [ann, bob, cid] = [await s.person('ann'), await s.person('bob'), await s.person('cid')];
  const group = await s.talkgroup('fire', ann, bob, cid);
  const members = [await s.radioAt(0, bob), await s.radioAt(1, cid)] as const;
  return { ann, group, members };
}

/** So many sockets of the person, at the relays by turns. */
async function socketsOf(s: TwoRelays, person: Person, count: number): Promise<Radio[]> {
  const sockets: Radio[] = [];
  while (sockets.length < count) sockets.push(await s.radioAt(sockets.length % RELAYS, person));
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

/** Tests that the limits of one user hold at both. `both` names them, as in `both threads`. */
export function testUserLimits(
  t: Test,
  both: string,
  open: (t: Test, environment?: Record<string, string>) => Promise<TwoRelays>,
): void {
  t.test(`bursts of one user on ${both} count together`, async (t) => {
    const s = await open(t, { TALK_SILENCE_MS: '60000' });
    const { ann, group, members } = await crewOf(s);
    const [a1, b1, a2, b2] = await socketsOf(s, ann, 4);
    for (const member of members) await areOnline(member, group.id, 4 + members.length);
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
    `a user that floods from ${SOCKETS} sockets on ${both} is cut to its budget on each`,
    { timeout: 120_000 },
    async (t) => {
      const s = await open(t);
      const { ann, group, members } = await crewOf(s);
      const sockets = await socketsOf(s, ann, SOCKETS);
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
      let lastAtMs = startedAtMs;
      let round = 0;
      /** Sessions of the user with a burst, as it hears. */
      const talking = new Set<number>();
      // Those that were denied try again, and those that talk send as much as one session may.
      const flood = setInterval(() => {
        const tries = round++ % 10 === 0;
        // By the time that passed: on a busy machine the timer comes late, and the flood must not become a talk.
        const passedMs = Math.min(1000, performance.now() - lastAtMs);
        lastAtMs += passedMs;
        const due = Math.round((FRAMES_PER_SECOND * passedMs) / 1000);
        for (const radio of sockets) {
          const talks = talking.has(radio.session);
          const frames = talks ? due : 1;
          for (let frame = 0; frame < frames; frame++)
            radio.speaks(group.number, payload, { start: tries && !talks });
        }
      }, periodMs);
      t.teardown(() => clearInterval(flood));
      for (const radio of sockets)
        radio.socket.on('message', (data: Buffer, isBinary: boolean) => {
          if (isBinary) return;
          const { type, session } = JSON.parse(data.toString()) as Json;
          if (session === radio.session && type === 'TALK_STARTED') talking.add(session);
          if (session === radio.session && type === 'TALK_ENDED') talking.delete(session);
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
        const bytesMax = RELAYS * USER_BYTES_PER_SECOND * (seconds + 1);
        t.ok(frames * FRAME_BYTES <= bytesMax, `${frames} frames in ${seconds.toFixed(1)} s`);
        t.ok(frames * FRAME_BYTES > bytesMax / 8, `${frames} frames: what the budget allows is relayed`);
        const most = burstsAtOnce(member, ann.id);
        t.ok(most <= RELAYS * TALKS_PER_USER, `${most} bursts at once`);
      }
    },
  );

  t.test(`SOCKETS_PER_USER holds on each of ${both}`, async (t) => {
    const s = await open(t, { SOCKETS_PER_USER: '2' });
    const ann = await s.person('ann');
    const [oldest, ...others] = await socketsOf(s, ann, 4);
    assert.ok(oldest);
    for (const radio of others) await radio.settled(); // so that the first is the longest silent
    const fifth = await s.radioAt(0, ann);
    t.match(await oldest.closes(), { code: 1013, reason: 'replaced' });
    for (const radio of [...others, fifth]) await radio.settled();
  });
}
