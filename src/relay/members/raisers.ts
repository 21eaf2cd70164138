// Keeps the open emergencies by the device of the user that raised them, and where that device was last.
import type { EmergencyRow } from '../../directory/records.js';
import type { DeviceId, TalkgroupId } from '../../ids.js';
import type { LatestFix } from '../../protocol/fix.js';
import type { Feed } from '../delivery/feed.js';

/** The talkgroup of an emergency. */
interface Place {
  readonly id: TalkgroupId;
  readonly feed: Feed;
}

/** An open emergency of a user with a device. */
export interface Raiser {
  readonly talkgroup: Place;
  readonly emergency: EmergencyRow;
  readonly deviceId: DeviceId;
  /** null: the device was nowhere since the emergency was raised. */
  fix: LatestFix | null;
  /** When the members were last told of a fix (monotonic ms). */
  toldAtMs: number;
}

/** One for each relay: the emergencies of its talkgroups in memory. */
export class Raisers {
  private readonly byEmergency = new Map<string, Raiser>();
  private readonly byDevice = new Map<DeviceId, Set<Raiser>>();
  /** Called when the first one opens, and when the last one closes. */
  changed: () => void = () => {};

  get size(): number {
    return this.byEmergency.size;
  }

  get(emergency: string): Raiser | undefined {
    return this.byEmergency.get(emergency);
  }

  /** Those that the device belongs to. */
  of(device: DeviceId): Iterable<Raiser> {
    return this.byDevice.get(device) ?? NONE;
  }

  /** The emergency is open, or has another state now, or its user another device. */
  open(talkgroup: Place, emergency: EmergencyRow): void {
    const { id, device_id: deviceId, fix } = emergency;
    const known = this.byEmergency.get(id);
    if ((known?.deviceId ?? null) === deviceId) return;
    this.close(id);
    if (deviceId === null) return;
    const raiser: Raiser = {
      ...{ talkgroup, emergency, deviceId, fix },
      toldAtMs: Number.NEGATIVE_INFINITY,
    };
    this.byEmergency.set(id, raiser);
    const others = this.byDevice.get(deviceId);
    if (others === undefined) this.byDevice.set(deviceId, new Set([raiser]));
    else others.add(raiser);
    if (this.size === 1) this.changed();
  }

  /** The emergency is cleared, or its talkgroup is not in memory any more. */
  close(emergency: string): void {
    const raiser = this.byEmergency.get(emergency);
    if (raiser === undefined) return;
    this.byEmergency.delete(emergency);
    const others = this.byDevice.get(raiser.deviceId);
    others?.delete(raiser);
    if (others?.size === 0) this.byDevice.delete(raiser.deviceId);
    if (this.size === 0) this.changed();
  }
}

const NONE: readonly Raiser[] = [];
