// What the relay reads a client's message as: null for an optional field is absence, for a required one an error.
import t from 'tap';
import { readMessage } from '../../src/relay/requests/read.js';

const id = 'a-talkgroup';
const codec = { name: 'opus', sample_rate: 48_000, frame_ms: 20 };

/** Of each message: what it must hold, and what it may leave out. */
const messages: Readonly<Record<string, { required: object; optional: object }>> = {
  PING: { required: { t: 1 }, optional: { ref: 1 } },
  GPS_UPDATE: {
    required: { lat: 1, lng: 1, alt: 1 },
    optional: {
      ...{ device_id: id, speed: 0, course: 0, accuracy: 0, battery: 0, ref: 'x' },
      at: new Date().toISOString(),
    },
  },
  UNWATCH: { required: {}, optional: { ref: 1 } },
  SUBSCRIBE: {
    required: { talkgroup_ids: [id] },
    optional: { mode: 'listen', presence: true, coalesce_ms: 10, ref: 1 },
  },
  UNSUBSCRIBE: { required: { talkgroup_ids: [id] }, optional: { ref: 1 } },
  SYNC: { required: { talkgroup_id: id }, optional: { ref: 1 } },
  MEMBERS: { required: { talkgroup_id: id }, optional: { after: 1, limit: 1, ref: 1 } },
  FLOOR_REQUEST: { required: { talkgroup_id: id }, optional: { priority: 1, queue: true, codec, ref: 1 } },
  FLOOR_RELEASE: { required: { talkgroup_id: id }, optional: { ref: 1 } },
  EMERGENCY_RAISE: { required: { talkgroup_id: id }, optional: { lat: 1, lng: 1, alt: 1, ref: 1 } },
  EMERGENCY_ACK: { required: { emergency_id: id }, optional: { ref: 1 } },
  EMERGENCY_CLEAR: { required: { emergency_id: id }, optional: { ref: 1 } },
};

const read = (message: object) => readMessage(JSON.stringify(message));

for (const [type, { required, optional }] of Object.entries(messages)) {
  t.test(`${type}: each optional field may be null, none of the required ones`, async (t) => {
    const all = { type, ...required, ...optional };
    t.strictSame(read(all), { kind: 'message', message: all });
    for (const name of Object.keys(optional)) {
      const { [name as never]: _absent, ...rest } = all;
      t.strictSame(read({ ...all, [name]: null }), { kind: 'message', message: rest }, name);
    }
    for (const name of Object.keys(required)) {
      t.match(read({ ...all, [name]: null }), { kind: 'bad', code: 'bad_message' }, name);
    }
  });
}

t.test('WATCH names talkgroups or devices, and no area', async (t) => {
  const good = { type: 'WATCH', talkgroup_ids: [id], interval_ms: 1000, ref: 1 };
  t.match(read(good), { kind: 'message', message: good });
  t.match(read({ ...good, device_ids: null, area: undefined }), { kind: 'message' });
  t.match(read({ type: 'WATCH', device_ids: [id], interval_ms: null }), { kind: 'message' });
  for (const bad of [
    { type: 'WATCH', ref: 1 },
    { ...good, device_ids: [id] },
    { ...good, area: [0, 0, 1, 1] },
    { type: 'WATCH', area: [0, 0, 1, 1], ref: 1 },
    { ...good, interval_ms: 3000 },
  ])
    t.match(read(bad), { kind: 'bad', code: 'bad_message', ref: 1 }, JSON.stringify(bad));
});

t.test('null inside of a codec stays an error, and of two ways to bundle one may be null', async (t) => {
  const request = { type: 'FLOOR_REQUEST', talkgroup_id: id };
  t.match(read({ ...request, codec: { ...codec, name: null } }), { kind: 'bad' });
  const subscribe = { type: 'SUBSCRIBE', talkgroup_ids: [] };
  t.match(read({ ...subscribe, coalesce_ms: 10, bundle_ms: 40 }), { kind: 'bad' });
  t.match(read({ ...subscribe, coalesce_ms: null, bundle_ms: 40 }), { kind: 'message' });
});
