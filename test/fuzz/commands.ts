// What radios say, as schemas: every message of the protocol from the client's side, by the compiler's word.
import type { ClientMessageType } from '../../src/protocol/client-messages.js';
import type { Schema } from './schema.js';

const string: Schema = { type: 'string' };
const safe: Schema = { type: 'integer', minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER };
const lat: Schema = { type: 'number', minimum: -90, maximum: 90 };
const lng: Schema = { type: 'number', minimum: -180, maximum: 180 };
const alt: Schema = { type: 'number', minimum: -12_000, maximum: 100_000 };
const ids: Schema = { type: 'array', items: string, maxItems: 200 };

const message = (properties: Record<string, Schema>, ...required: string[]): Schema => ({
  type: 'object',
  properties: { ...properties, ref: { anyOf: [{ type: 'string', maxLength: 64 }, safe] } },
  required,
});

/** Without `type`; limits as docs/protocol.md has them. */
export const commands: Readonly<Record<ClientMessageType, Schema>> = {
  PING: message({ t: safe }, 't'),
  GPS_UPDATE: message({ device_id: string, lat, lng, alt }, 'lat', 'lng', 'alt'),
  SUBSCRIBE: message(
    {
      talkgroup_ids: ids,
      mode: { enum: ['talk', 'listen', 'events'] },
      presence: { type: 'boolean' },
      coalesce_ms: { enum: [10, 20] },
      bundle_ms: { enum: [40, 60] },
    },
    'talkgroup_ids',
  ),
  UNSUBSCRIBE: message({ talkgroup_ids: ids }, 'talkgroup_ids'),
  SYNC: message({ talkgroup_id: string }, 'talkgroup_id'),
  MEMBERS: message(
    {
      talkgroup_id: string,
      after: { type: 'integer', minimum: 0, maximum: 2 ** 32 - 1 },
      limit: { type: 'integer', minimum: 1, maximum: 200 },
    },
    'talkgroup_id',
  ),
  FLOOR_REQUEST: message(
    {
      talkgroup_id: string,
      priority: { type: 'integer', minimum: 0, maximum: 7 },
      queue: { type: 'boolean' },
      codec: {
        type: 'object',
        properties: {
          name: { type: 'string', maxLength: 200 },
          sample_rate: { type: 'integer', minimum: 1, maximum: 192_000 },
          frame_ms: { type: 'number', minimum: 1, maximum: 120 },
        },
        required: ['name', 'sample_rate', 'frame_ms'],
      },
    },
    'talkgroup_id',
  ),
  FLOOR_RELEASE: message({ talkgroup_id: string }, 'talkgroup_id'),
  EMERGENCY_RAISE: message({ talkgroup_id: string, lat, lng, alt }, 'talkgroup_id'),
  EMERGENCY_ACK: message({ emergency_id: string }, 'emergency_id'),
  EMERGENCY_CLEAR: message({ emergency_id: string }, 'emergency_id'),
};
