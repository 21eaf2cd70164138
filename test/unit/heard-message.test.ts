// The check of what tests hear finds what is not as the schemas have it. What the relay says is typed by them.
import t from 'tap';
import { textOf } from '../../src/protocol/server-messages.js';
import { faultIn } from '../helpers/relay/heard-message.js';

const presence = { type: 'PRESENCE', talkgroup_id: '00000000-0000-0000-0000-000000000001', online: 2 };
const member = {
  session: 4,
  user_id: '00000000-0000-0000-0000-000000000002',
  username: 'ann',
  site: 'depot',
};
const codec = { name: 'codec2', sample_rate: 8000, frame_ms: 40 };
const talker = {
  ...{ talkgroup_id: presence.talkgroup_id, session: 4, burst: 1, user_id: member.user_id, username: 'ann' },
  ...{ priority: 1, emergency: false, codec, started_at: '2026-01-01T00:00:00.000Z' },
};

t.test('a message as its schema has it is none', async (t) => {
  for (const message of [
    presence,
    { ...presence, joined: [member], left: [] },
    { type: 'TALK_STARTED', event: 1, ...talker },
    { type: 'TALK_STARTED', event: 1, ...talker, codec: { ...codec, bitrate: 3200 } },
    { type: 'OK', ref: 'x' },
  ])
    t.equal(faultIn(message), null);
});

t.test(
  'a wrong type, a missing or further field and an unknown code are named with the message',
  async (t) => {
    for (const [message, fault] of [
      [null, 'no type of the protocol: null'],
      [{ type: 'SING' }, 'no type of the protocol: {"type":"SING"}'],
      [{ type: 'OK' }, 'properties ref'],
      [{ ...presence, online: '2' }, '/online'],
      [{ ...presence, talkgroup_id: 'fire' }, '/talkgroup_id'],
      [{ ...presence, joined: [{ ...member, role: 'user' }] }, '/joined/0/role'],
      [{ ...presence, isIncomplete: true }, '/isIncomplete'],
      [{ type: 'TALK_STARTED', event: 1, ...talker, started_at: '2026-01-01' }, '/started_at'],
      [{ type: 'ERROR', code: 'tired', message: '' }, '/code'],
      [{ type: 'ERROR', code: 'forbidden', message: '', retry_ms: 1 }, '/retry_ms'],
    ] as const) {
      const found = faultIn(message) ?? '';
      t.ok(found.includes(fault), `${found} names ${fault}`);
      t.ok(found.includes(JSON.stringify(message)));
    }
  },
);

t.test('a message is written without its undefined fields, of which none is required', async (t) => {
  const pong = textOf({ type: 'PONG', ref: undefined, t: 1, server_time: 2 });
  t.equal(pong, '{"type":"PONG","t":1,"server_time":2}');
  t.equal(faultIn(JSON.parse(pong)), null);
  // @ts-expect-error: required
  const ok = textOf({ type: 'OK', ref: undefined });
  t.not(faultIn(JSON.parse(ok)), null);
  // @ts-expect-error: an entry of a list cannot be undefined either
  textOf({ type: 'PRESENCE', talkgroup_id: '', left: [undefined], online: 0 });
  // @ts-expect-error: no such field
  textOf({ type: 'GOAWAY', reconnect_after_ms: 1, reason: 'restart' });
});
