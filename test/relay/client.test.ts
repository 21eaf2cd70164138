// The client library against the real relay: what REST changes shows on a live radio, and what the radio says arrives.
import t, { type Test } from 'tap';
import { createRadio, type Radio, type RadioEvents } from '../../src/client/node.js';
import { type Person, type Service, service } from '../helpers/service.js';

const packet = Uint8Array.of(0x08, 1, 2, 3);

/** Connected. */
async function radioOf(t: Test, s: Service, { token }: Pick<Person, 'token'>): Promise<Radio> {
  const radio = createRadio({ url: s.ws, token });
  t.teardown(() => radio.close());
  await event(radio, 'open');
  return radio;
}

function event<Name extends keyof RadioEvents>(radio: Radio, name: Name): Promise<RadioEvents[Name]> {
  return new Promise((resolve) => {
    const stop = radio.on(name, (value) => {
      stop();
      resolve(value);
    });
  });
}

t.test('a talkgroup joined by REST can be talked in at once, and one left no more', async (t) => {
  const s = await service(t);
  const [ann, bob] = [await s.person('ann'), await s.person('bob')];
  const group = await s.talkgroup('fire', bob);
  const [a, b] = [await radioOf(t, s, ann), await radioOf(t, s, bob)];
  t.throws(() => a.talk({ talkgroupId: group.id }), { code: 'not_member' });

  const joined = event(a, 'talkgroups');
  await ann.post(`/talkgroups/${group.id}/join`);
  await joined;
  const [started, heard, ended] = [event(b, 'talk_started'), event(b, 'audio'), event(b, 'talk_ended')];
  const talk = a.talk({ talkgroupId: group.id });
  talk.end(packet);
  t.match(await started, { username: 'ann', session: a.session });
  t.match(await heard, { talkgroupId: group.id, session: a.session, sequence: 0, payload: packet });
  t.match(await ended, { code: 'released', frames: 1 });
  t.match(await talk.ended, { code: 'released', frames: 1 });

  const running = a.talk({ talkgroupId: group.id });
  running.send(packet);
  const left = event(a, 'talkgroups');
  await ann.delete(`/talkgroups/${group.id}/leave`);
  await left;
  t.equal((await running.ended).code, 'left');
  t.equal(a.talkgroups.size, 0);
});

t.test('a radio that connects while somebody talks knows who, and from which frame on', async (t) => {
  const s = await service(t);
  const [ann, bob] = [await s.person('ann'), await s.person('bob')];
  const group = await s.talkgroup('fire', ann, bob);
  const a = await radioOf(t, s, ann);
  const talk = a.talk({ talkgroupId: group.id });
  talk.send(packet);
  talk.skip(299);
  talk.send(packet);
  await a.ping(); // behind the frames: they are relayed

  const b = createRadio({ url: s.ws, token: bob.token });
  t.teardown(() => b.close());
  const [started] = await Promise.all([event(b, 'talk_started'), event(b, 'open')]);
  t.match(started, { username: 'ann', session: a.session, burst: 1 });
  const heard = event(b, 'audio');
  talk.send(packet);
  t.equal((await heard).sequence, 301);
});

t.test('a fix sent by radio is the one REST tells, a bad one is refused, a ping is answered', async (t) => {
  const s = await service(t);
  const ann = await s.person('ann', { serial: 'radio-1' });
  const radio = await radioOf(t, s, ann);
  await radio.gps({ lat: 52.25, lng: 5.5, alt: 12 });
  const { gps } = await ann.get(`/devices/${ann.device}/gps`);
  t.match(gps, { device_id: ann.device, lat: 52.25, lng: 5.5, alt: 12 });
  await t.rejects(radio.gps({ lat: 91, lng: 0, alt: 0 }), { code: 'bad_message' });
  const device_id = '00000000-0000-4000-8000-000000000000';
  await t.rejects(radio.gps({ lat: 1, lng: 1, alt: 1, device_id }), { code: 'unknown_device' });
  const { rttMs, server_time } = await radio.ping();
  t.ok(rttMs > 0 && rttMs < 5_000);
  t.ok(Math.abs(server_time - Date.now()) < 5_000);
});

t.test('a disabled device makes the radio wait, a worthless token stops it', async (t) => {
  const s = await service(t);
  const ann = await s.person('ann', { serial: 'radio-1' });
  const radio = await radioOf(t, s, ann);
  const waiting = event(radio, 'waiting');
  await s.admin.patch(`/devices/${ann.device}/status`, { active: false });
  t.match(await waiting, { code: 1008, reason: 'device disabled' });
  t.equal(radio.state, 'waiting');

  const stranger = createRadio({ url: s.ws, token: 'worthless' });
  t.match(await event(stranger, 'stopped'), { code: 1008, reason: 'invalid token' });
});
