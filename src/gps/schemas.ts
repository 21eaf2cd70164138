// Positions: what a radio reports, by REST or in GPS_UPDATE, and what is stored of it.
import { type Static, Type } from 'typebox';
import type { DeviceId } from '../ids.js';

/** Degrees in WGS 84 and metres above it; the lowest shore and the highest balloon are well inside. */
export type GpsFix = Static<typeof GpsFix>;
export const GpsFix = Type.Object({
  lat: Type.Number({ minimum: -90, maximum: 90 }),
  lng: Type.Number({ minimum: -180, maximum: 180 }),
  alt: Type.Number({ minimum: -12_000, maximum: 100_000 }),
});

/** Whose it is. */
export type DeviceFix = GpsFix & { readonly deviceId: DeviceId };

export type StoredFix = Static<typeof StoredFix>;
export const StoredFix = Type.Object({
  id: Type.String({ format: 'uuid' }),
  device_id: Type.String({ format: 'uuid' }),
  lat: Type.Number(),
  lng: Type.Number(),
  alt: Type.Number(),
  updated_at: Type.String({ format: 'date-time' }),
});

export const LatestFix = Type.Object({ gps: StoredFix });
