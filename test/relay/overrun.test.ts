// A radio that does not read for a while, and what it is told when it reads again.
import t from 'tap';
import { type Json, service } from '../helpers/service/service.js';

/** More than kernel and engine hold for one socket: 3.7 MB were measured. */
const FRAMES = 12_000;
const PAYLOAD = 'x'.repeat(1000);
/** A radio that does not read for 10 s is closed. On a machine that is so slow fewer frames are sent, and it is tried again. */
const UNREAD_MS_MAX = 6000;

t.test(
  'events that a full buffer lost are made good by one SUBSCRIBED with all talkgroups',
  { timeout: 60_000 },
  async (t) => {
    const s = await service(t, { FRAMES_PER_SECOND: '10000', USER_BYTES_PER_SECOND: '1000000000' });
    const [ann, bob, cid] = [await s.person('ann'), await s.person('bob'), await s.person('cid')];
    const loud = await s.talkgroup('loud', ann, bob, cid);
    const quiet = await s.talkgroup('quiet', bob);
    const [a, b, c] = [await ann.radio(), await bob.radio(), await cid.radio()];

    /** The unasked SUBSCRIBED and the event before it. null: all events came, for the kernel took more in the end. */
    async function overrun(): Promise<{ told: Json; rotated: Json; sent: number } | null> {
      b.socket.pause();
      const pausedAtMs = performance.now();
      let sent = 0;
      for (; sent < FRAMES && performance.now() - pausedAtMs < UNREAD_MS_MAX; sent += 200) {
        for (let frame = 0; frame < 200; frame++)
          a.speaks(loud.number, PAYLOAD, { start: sent + frame === 0 });
        await a.settled();
      }
      a.speaks(loud.number, 'over', { end: true });
      await c.hears('TALK_ENDED');
      await s.admin.post('/keys/rotate', { talkgroup_id: loud.id });
      const rotated = await c.hears('KEY_ROTATED');
      b.socket.resume();
      await b.hears('LAG');
      await b.settled();
      const isTold = b.messages.some(({ type }) => type === 'SUBSCRIBED');
      const hasHeard = (type: string) => b.messages.some((message) => message.type === type);
      if (!isTold) t.ok(hasHeard('TALK_ENDED') && hasHeard('KEY_ROTATED'), 'nothing was lost but audio');
      return isTold ? { told: await b.hears('SUBSCRIBED'), rotated, sent } : null;
    }

    let lost = await overrun();
    for (let tries = 1; lost === null && tries < 5; tries++) {
      b.messages.length = 0;
      b.frames.length = 0;
      c.frames.length = 0;
      lost = await overrun();
    }
    if (lost === null) throw new Error('no event was ever lost');
    const { told, rotated, sent } = lost;
    const snapshots = told.talkgroups as Json[];
    t.same(new Set(snapshots.map(({ talkgroup_id }) => talkgroup_id)), new Set([loud.id, quiet.id]));
    t.match(
      snapshots.find(({ name }) => name === 'loud'),
      { event: rotated.event, rotation_counter: rotated.rotation_counter, talkers: [] },
    );
    t.ok(b.frames.length < sent, `${sent - b.frames.length} of ${sent} frames were lost`);
    const order = b.frames.map(({ sequence }) => sequence);
    t.same(
      order,
      [...new Set(order)].sort((one, other) => one - other),
      'what came is in order, none of it twice',
    );
    t.equal(c.frames.length, sent + 1, 'the radio beside it lost none');
    b.frames.length = 0;
    a.speaks(loud.number, 'again', { start: true });
    await b.hearsText('again');
  },
);

t.test('with one socket for each user a new one replaces the old and is no stranger', async (t) => {
  const s = await service(t, { SOCKETS_PER_USER: '1' }, undefined, { isOneNode: true });
  const ann = await s.person('ann');
  const group = await s.talkgroup('fire', ann);
  const first = await ann.radio();
  const second = await ann.radio();
  t.same(await first.closes(), { code: 1013, reason: 'replaced' });
  t.match(second.welcome?.talkgroups, [{ talkgroup_id: group.id, online: 1 }]);
  const joined = await s.talkgroup('rail');
  await ann.post(`/talkgroups/${joined.id}/join`);
  await second.hears('TALKGROUP_JOINED');
  t.equal((await s.revoke('ann')).code, 0);
  t.same(await second.closes(), { code: 1008, reason: 'invalid token' });
});
