// Keeps what the user watches, requests it on every connection, and the latest position of each watched device.

import type { WatchInterval } from '../../protocol/codes.js';
import type { PositionRow, ServerMessage, ServerMessageOf, WatchedDevice } from '../../protocol/types.js';
import type { Clock } from '../clock.js';
import { isPassing, type RadioError, type Requests } from '../connection/requests.js';

/** Either the devices of talkgroups, at most 32, or up to 200 devices. `intervalMs`: how often each may move (default 2 s). */
export type WatchOptions = { intervalMs?: WatchInterval } & (
  | { talkgroupIds: readonly string[]; deviceIds?: never }
  | { talkgroupIds?: never; deviceIds: readonly string[] }
);

/** A watched device and where it was last. The coordinates and the time are null as long as it has no position. */
export type Watched = {
  readonly deviceId: string;
  readonly name: string;
  /** A user of the device. null: it has none. */
  readonly userId: string | null;
  readonly username: string | null;
  readonly lat: number | null;
  readonly lng: number | null;
  /** m/s. null: the device does not tell. */
  readonly speed: number | null;
  /** Degrees, clockwise from north. null: the device does not tell. */
  readonly course: number | null;
  /** When the device was there: Unix ms of the server's clock. */
  readonly atMs: number | null;
};

/** What changed: devices that are new or moved, and the ids of those that are not watched any more. */
export type Positions = { readonly moved: readonly Watched[]; readonly gone: readonly string[] };

export type Watching = {
  readonly devices: ReadonlyMap<string, Watched>;
  /**
   * Resolves when the relay has listed the first devices. Rejects with RadioError. After `disconnected` and `timeout` the
   * choice stays, and the next connection requests it. After other errors the earlier choice counts.
   */
  watch(options: WatchOptions): Promise<void>;
  unwatch(): Promise<void>;
  message(message: ServerMessage): void;
  /** A watch ends with its connection, also when the session is resumed: requests the choice again. */
  connected(): void;
  disconnected(): void;
};

// 1 to 2 s after a rejection. The server may have rejected many radios, which must not all repeat it at the same time.
const AGAIN_MS_MIN = 1_000;
const AGAIN_SPREAD_MS = 1_000;

/** Creates a radio's watch of nothing. Calls `changed` for every list and every batch of positions. */
export function createWatching(
  requests: Requests,
  clock: Clock,
  random: () => number,
  changed: (positions: Positions) => void,
): Watching {
  let choice: WatchOptions | null = null;
  const devices = new Map<string, Watched>();
  /** By `n` of this connection. One that has left a talkgroup may be named again by another one. */
  const byNumber = new Map<number, Watched>();
  /** Ids in the parts of a list that is not complete. null: none is coming. */
  let listed: Set<string> | null = null;
  let isConnected = false;
  let cancelAgain: (() => void) | null = null;

  return {
    devices,
    async watch(options) {
      const before = choice;
      choice = options;
      try {
        await ask(options);
      } catch (error) {
        const { code } = error as RadioError; // requests reject with RadioError only
        if (choice === options && code !== 'disconnected' && code !== 'timeout') choice = before;
        throw error;
      }
    },
    async unwatch() {
      choice = null;
      cancel();
      forgetAll();
      if (isConnected) await requests.askFor('OK', { type: 'UNWATCH' });
    },
    message,
    connected() {
      isConnected = true;
      byNumber.clear();
      listed = null;
      repeat();
    },
    disconnected() {
      isConnected = false;
      cancel();
    },
  };

  function message(message: ServerMessage): void {
    if (message.type === 'TALKGROUP_LEFT') leave(message.talkgroup_id);
    else if (choice === null) return;
    else if (message.type === 'WATCHING') list(message);
    else if (message.type === 'POSITIONS') move(message);
  }

  async function ask({ talkgroupIds, deviceIds, intervalMs }: WatchOptions): Promise<void> {
    await requests.askFor('WATCHING', {
      type: 'WATCH',
      ...(talkgroupIds !== undefined && { talkgroup_ids: [...talkgroupIds] }),
      ...(deviceIds !== undefined && { device_ids: [...deviceIds] }),
      ...(intervalMs !== undefined && { interval_ms: intervalMs }),
    });
  }

  function repeat(): void {
    const asked = choice;
    if (asked === null) return;
    ask(asked).catch((error: RadioError) => {
      if (choice !== asked || error.code === 'disconnected') return;
      if (isPassing(error)) return again();
      // The user may have left a talkgroup, and repeating would not change that.
      choice = null;
      forgetAll();
    });
  }

  function again(): void {
    if (!isConnected || cancelAgain) return;
    cancelAgain = clock.after(AGAIN_MS_MIN + random() * AGAIN_SPREAD_MS, () => {
      cancelAgain = null;
      repeat();
    });
  }

  function cancel(): void {
    cancelAgain?.();
    cancelAgain = null;
  }

  /** The relay ends the watch of the talkgroup, and tells which devices are gone. */
  function leave(talkgroupId: string): void {
    if (choice?.talkgroupIds?.includes(talkgroupId) !== true) return;
    const { talkgroupIds, intervalMs } = choice;
    const left = talkgroupIds.filter((id) => id !== talkgroupId);
    if (left.length > 0) {
      choice = { talkgroupIds: left, ...(intervalMs !== undefined && { intervalMs }) };
      return;
    }
    choice = null;
    forgetAll();
  }

  function list({ devices: told, talkgroup_id, part, parts }: ServerMessageOf<'WATCHING'>): void {
    const moved = told.map(watchedOf);
    for (const [at, { n }] of told.entries()) {
      const one = moved[at];
      if (one === undefined) continue;
      byNumber.set(n, one);
      devices.set(one.deviceId, one);
    }
    let gone: string[] = [];
    if (talkgroup_id === undefined) {
      if (part === 1) listed = new Set();
      for (const { deviceId } of moved) listed?.add(deviceId);
      if (part === parts) gone = completed();
    }
    changed({ moved, gone });
  }

  /** The list is whole: what is not in it is watched no more. */
  function completed(): string[] {
    const whole = listed;
    listed = null;
    if (whole === null) return [];
    const gone = [...devices.keys()].filter((id) => !whole.has(id));
    for (const id of gone) devices.delete(id);
    return gone;
  }

  function move({ fixes, gone = [], server_time }: ServerMessageOf<'POSITIONS'>): void {
    const moved: Watched[] = [];
    for (const row of fixes) {
      const known = byNumber.get(row[0]);
      if (known === undefined) continue; // beyond the devices that the relay lists
      const one = movedTo(known, row, server_time);
      byNumber.set(row[0], one);
      devices.set(one.deviceId, one);
      moved.push(one);
    }
    const left = gone.flatMap((n) => {
      const deviceId = byNumber.get(n)?.deviceId;
      return deviceId !== undefined && devices.delete(deviceId) ? [deviceId] : [];
    });
    changed({ moved, gone: left });
  }

  function forgetAll(): void {
    const gone = [...devices.keys()];
    devices.clear();
    byNumber.clear();
    listed = null;
    if (gone.length > 0) changed({ moved: [], gone });
  }
}

const watchedOf = (told: WatchedDevice): Watched => ({
  deviceId: told.device_id,
  name: told.name,
  userId: told.user_id ?? null,
  username: told.username ?? null,
  lat: told.lat ?? null,
  lng: told.lng ?? null,
  speed: told.speed ?? null,
  course: told.course ?? null,
  atMs: told.updated_at === undefined ? null : Date.parse(told.updated_at),
});

const movedTo = (
  known: Watched,
  [, lat, lng, ageMs, speed, course]: PositionRow,
  serverTimeMs: number,
): Watched => ({ ...known, lat, lng, speed, course, atMs: serverTimeMs - ageMs });
