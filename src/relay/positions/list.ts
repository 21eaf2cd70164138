// Keeps the devices that belong together: those of a talkgroup's members, or those that one session named.
import type { DeviceRow } from '../../directory/records.js';
import type { DeviceId } from '../../ids.js';
import type { Device, Devices, Follower } from './devices.js';
import { partsOf } from './messages.js';

/** Devices of one list. `total` of WATCHING tells that there are more. */
export const DEVICES_MAX = 5000;

/** As the database has it now. */
export interface DevicesRead {
  readonly devices: readonly DeviceRow[];
  /** Also of those that are not read. */
  readonly total: number;
}

/** What a read changed. */
export interface ListChange {
  readonly came: readonly Device[];
  /** These are in the list no more. */
  readonly gone: readonly Device[];
}

export class List {
  total = 0;
  /** null: it was not read yet. */
  private held: Map<DeviceId, Device> | null = null;
  /** null: to be made when they are wanted. */
  private inParts: readonly (readonly Device[])[] | null = null;
  private readonly known: Devices;
  private readonly followers = new Set<Follower>();

  constructor(known: Devices) {
    this.known = known;
  }

  get isRead(): boolean {
    return this.held !== null;
  }

  get size(): number {
    return this.held?.size ?? 0;
  }

  get devices(): Iterable<Device> {
    return this.held?.values() ?? [];
  }

  /** The devices as parts of WATCHING. They are made once for all sessions, because that takes 3 ms for 5,000 devices. */
  get parts(): readonly (readonly Device[])[] {
    this.inParts ??= partsOf(this.devices);
    return this.inParts;
  }

  has({ id }: Pick<Device, 'id'>): boolean {
    return this.held?.has(id) === true;
  }

  /** A read shows these. A device whose name or user changed has come again. */
  show({ devices, total }: DevicesRead): ListChange {
    this.total = total;
    const before = this.held ?? new Map<DeviceId, Device>();
    const held = new Map<DeviceId, Device>();
    this.held = held;
    const came: Device[] = [];
    for (const row of devices) {
      const kept = before.get(row.id);
      before.delete(row.id);
      const device = kept ?? this.take(row);
      held.set(row.id, device);
      if (kept === undefined || isOther(device, row)) came.push(device);
      device.row = { id: row.id, name: row.name, user: row.user };
      if (row.fix !== null) this.known.located(row.fix);
    }
    for (const device of before.values()) this.drop(device);
    if (came.length + before.size > 0) this.inParts = null;
    return { came, gone: [...before.values()] };
  }

  private take(row: DeviceRow): Device {
    const device = this.known.hold(row);
    for (const follower of this.followers) device.followers.add(follower);
    return device;
  }

  private drop(device: Device): void {
    for (const follower of this.followers) device.followers.delete(follower);
    this.known.release(device);
  }

  /** It is told of every new position from now on. */
  follow(follower: Follower): void {
    this.followers.add(follower);
    for (const device of this.devices) device.followers.add(follower);
  }

  unfollow(follower: Follower): void {
    this.followers.delete(follower);
    for (const device of this.devices) device.followers.delete(follower);
  }

  /** No session watches it any more. */
  end(): void {
    for (const device of this.devices) this.drop(device);
    this.held = null;
    this.inParts = null;
  }
}

const isOther = ({ row }: Device, { name, user }: DeviceRow): boolean =>
  row.name !== name || row.user?.id !== user?.id;
