// Writes WATCHING, POSITIONS and EMERGENCY_POSITION.
import type { TalkgroupId } from '../../ids.js';
import type { Ref, WatchedDevice } from '../../protocol/bodies.js';
import { fixBody, type LatestFix } from '../../protocol/fix.js';
import { textOf } from '../../protocol/server-messages.js';
import type { Raiser } from '../members/raisers.js';
import type { Device } from './devices.js';

/** Of one message. At 1 Mbit/s it takes 130 ms, and speech waits no longer behind it. */
export const MESSAGE_BYTES_MAX = 16 * 1024;
/** Of POSITIONS around its rows and numbers. */
const FRAME_BYTES = 160;
/** Numbers in `gone` of one message: 11 KB at most. */
export const GONE_MAX = 1000;
/** Of a device in WATCHING without its names: every number may have 22 digits. */
const DEVICE_BYTES = 420;

/** The devices as parts of at most 16 KiB, at least one. The sizes are estimates from above. */
export function partsOf(devices: Iterable<Device>): Device[][] {
  const parts: Device[][] = [[]];
  let bytes = FRAME_BYTES;
  for (const device of devices) {
    const { name, user } = device.row;
    // A quotation mark takes two bytes in JSON.
    const more = DEVICE_BYTES + 2 * (Buffer.byteLength(name) + Buffer.byteLength(user?.username ?? ''));
    if (bytes + more > MESSAGE_BYTES_MAX) {
      parts.push([]);
      bytes = FRAME_BYTES;
    }
    parts.at(-1)?.push(device);
    bytes += more;
  }
  return parts;
}

export interface WatchingPart {
  readonly ref?: Ref | undefined;
  /** These devices came to the talkgroup. */
  readonly talkgroup?: TalkgroupId;
  readonly devices: readonly Device[];
  readonly total: number;
  readonly part: number;
  readonly parts: number;
}

export const watchingText = ({ ref, talkgroup, devices, total, part, parts }: WatchingPart): string =>
  textOf({
    type: 'WATCHING',
    ref,
    talkgroup_id: talkgroup,
    devices: devices.map(deviceBody),
    ...{ total, part, parts },
  });

const deviceBody = ({ n, id, row: { name, user }, fix }: Device): WatchedDevice => ({
  ...{ n, device_id: id, name },
  ...(user !== null && { user_id: user.id, username: user.username }),
  ...(fix !== null && fixBody(fix)),
});

export interface Batch {
  /** undefined: for one session that watches several, or devices that it named. */
  readonly talkgroup?: TalkgroupId | undefined;
  /** Numbers, at most GONE_MAX. */
  readonly gone: readonly number[];
  /** Unix ms. */
  readonly serverTimeMs: number;
}

/**
 * POSITIONS with as many of the devices as fit, which are deleted from the set. It begins with a blank: when the engine
 * drops a message for a receiver whose buffer is full, its first byte tells a text that the receiver must get from one that
 * the next one replaces (`isText` of relay/websocket/sockets.ts).
 */
export function positionsText(devices: Set<Device>, { talkgroup, gone, serverTimeMs }: Batch): string {
  const rows: string[] = [];
  const numbers = gone.join(',');
  let bytes = FRAME_BYTES + numbers.length;
  for (const device of devices) {
    const row = rowOf(device, serverTimeMs);
    bytes += row.length + 1;
    if (bytes > MESSAGE_BYTES_MAX) break;
    rows.push(row);
    devices.delete(device);
  }
  const of = talkgroup === undefined ? '' : `"talkgroup_id":"${talkgroup}",`;
  const left = gone.length === 0 ? '' : `,"gone":[${numbers}]`;
  return ` {"type":"POSITIONS",${of}"server_time":${serverTimeMs},"fixes":[${rows.join(',')}]${left}}`;
}

/** Never empty: a device that moved has a position. */
function rowOf({ n, fix }: Device, serverTimeMs: number): string {
  if (fix === null) return `[${n},0,0,0,null,null]`;
  const { lat, lng, atMs, speed, course } = fix;
  const ageMs = Math.max(0, Math.round(serverTimeMs - atMs));
  return `[${n},${degrees(lat)},${degrees(lng)},${ageMs},${tenths(speed)},${tenths(course, 360)}]`;
}

/** 11 cm. */
const degrees = (value: number) => Math.round(value * 1e6) / 1e6;
const tenths = (value: number | null, turn = Number.POSITIVE_INFINITY) =>
  value === null ? 'null' : (Math.round(value * 10) / 10) % turn;

export const emergencyPositionText = ({ talkgroup, emergency }: Raiser, fix: LatestFix): string =>
  textOf({
    type: 'EMERGENCY_POSITION',
    emergency_id: emergency.id,
    talkgroup_id: talkgroup.id,
    user_id: emergency.user_id,
    device_id: fix.deviceId,
    ...fixBody(fix),
  });
