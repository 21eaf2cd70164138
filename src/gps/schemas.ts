// Positions: what a radio reports, by REST or in GPS_UPDATE, and what is stored of it.
import { type Static, Type } from 'typebox';
import { EXAMPLE } from '../examples.js';
import type { DeviceId } from '../ids.js';

const LAT = 'Latitude in degrees, WGS 84.';
const LNG = 'Longitude in degrees, WGS 84.';
const ALT = 'Altitude in metres above the WGS 84 ellipsoid.';

/** Degrees in WGS 84 and metres above it; the lowest shore and the highest balloon are well inside. */
export type GpsFix = Static<typeof GpsFix>;
export const GpsFix = Type.Object(
  {
    lat: Type.Number({ minimum: -90, maximum: 90, description: LAT }),
    lng: Type.Number({ minimum: -180, maximum: 180, description: LNG }),
    alt: Type.Number({ minimum: -12_000, maximum: 100_000, description: ALT }),
  },
  { title: 'GpsFix', examples: [{ lat: 52.52, lng: 13.405, alt: 34 }] },
);

/** Whose it is. */
export type DeviceFix = GpsFix & { readonly deviceId: DeviceId };

export type StoredFix = Static<typeof StoredFix>;
export const StoredFix = Type.Object(
  {
    id: Type.String({ format: 'uuid' }),
    device_id: Type.String({ format: 'uuid' }),
    lat: Type.Number({ description: LAT }),
    lng: Type.Number({ description: LNG }),
    alt: Type.Number({ description: ALT }),
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
