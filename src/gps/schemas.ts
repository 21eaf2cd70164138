// Declares positions: what a radio reports, by REST or in GPS_UPDATE, and what is stored of it.

import { EXAMPLE } from '../examples.js';
import { OnePage, PageQuery } from '../http/paging.js';
import { shownId } from '../http/schemas.js';
import { axes, FixTime, motion, Position } from '../protocol/bodies.js';
import { type Static, Type } from '../typebox.js';

export const GpsFix = Type.Object(
  { ...Position.properties, ...motion, at: Type.Optional(FixTime) },
  {
    title: 'GpsFix',
    examples: [{ lat: 52.52, lng: 13.405, alt: 34, speed: 13.9, course: 271, accuracy: 5, battery: 80 }],
  },
);

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
      description:
        'When the device was there: `at` of its report, else when the service stored it. ISO 8601, UTC.',
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

/** The latest position of one device, with what the device said beside it. */
export const DevicePosition = Type.Object(
  {
    device_id: StoredFix.properties.device_id,
    lat: StoredFix.properties.lat,
    lng: StoredFix.properties.lng,
    alt: StoredFix.properties.alt,
    ...motion,
    updated_at: StoredFix.properties.updated_at,
  },
  { title: 'DevicePosition' },
);

export const PositionsQuery = Type.Object({
  ...PageQuery.properties,
  talkgroup_id: Type.Optional(shownId('Only devices of members of this talkgroup.', EXAMPLE.talkgroup)),
});

export const PositionList = OnePage(
  { positions: Type.Array(DevicePosition) },
  {
    title: 'PositionList',
    description: 'Latest positions in the order of the ids of their devices.',
    examples: [
      {
        positions: [
          {
            device_id: EXAMPLE.device,
            lat: 52.52,
            lng: 13.405,
            alt: 34,
            speed: 13.9,
            course: 271,
            battery: 80,
            updated_at: EXAMPLE.at,
          },
        ],
        next: null,
      },
    ],
  },
);
