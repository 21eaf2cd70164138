// Declares positions: what a radio reports, by REST or in GPS_UPDATE, and what is stored of it.
import { type Static, Type } from 'typebox';
import { EXAMPLE } from '../examples.js';
import type { DeviceId } from '../ids.js';
import { axes, Position } from '../protocol/bodies.js';

export type GpsFix = Position;
export const GpsFix = Type.Object(Position.properties, {
  title: 'GpsFix',
  examples: [{ lat: 52.52, lng: 13.405, alt: 34 }],
});

/** Whose it is. */
export type DeviceFix = GpsFix & { readonly deviceId: DeviceId };

export type StoredFix = Static<typeof StoredFix>;
export const StoredFix = Type.Object(
  {
    id: Type.String({ format: 'uuid' }),
    device_id: Type.String({ format: 'uuid' }),
    lat: Type.Number({ description: axes.lat }),
    lng: Type.Number({ description: axes.lng }),
    alt: Type.Number({ description: axes.alt }),
    updated_at: Type.String({
      format: 'date-time',
      description: 'When the service stored it. ISO 8601, UTC.',
    }),
  },
  { title: 'StoredFix' },
);

export const LatestFix = Type.Object(
  { gps: StoredFix },
  {
    title: 'LatestFix',
    description: 'The latest position.',
    examples: [
      {
        gps: {
          id: EXAMPLE.position,
          device_id: EXAMPLE.device,
          lat: 52.52,
          lng: 13.405,
          alt: 34,
          updated_at: EXAMPLE.at,
        },
      },
    ],
  },
);
