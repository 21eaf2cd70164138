// Declares what the map reads of the messages about positions (docs/protocol.md).

/** A device as WATCHING lists it. Without `lat` it has not reported a position. */
export interface Watched {
  readonly n: number;
  readonly device_id: string;
  readonly name: string;
  /** Absent when no user has the device. */
  readonly user_id?: string;
  readonly username?: string;
  readonly lat?: number;
  readonly lng?: number;
  readonly updated_at?: string;
  readonly speed?: number;
  readonly course?: number;
  readonly accuracy?: number;
  readonly battery?: number;
}

/** The devices that are watched from now on, in parts. */
export interface Watching {
  readonly type: 'WATCHING';
  /** These devices came to this talkgroup. Absent: the list replaces the one before. */
  readonly talkgroup_id?: string;
  readonly devices: readonly Watched[];
  /** Of all parts. More than are listed when the limit of the relay is reached. */
  readonly total: number;
  /** 1 is the first. */
  readonly part: number;
  readonly parts: number;
}

/** `[n, lat, lng, age_ms, speed, course]`. The last two may be null. */
export type FixRow = readonly [number, number, number, number, number | null, number | null];

export interface Positions {
  readonly type: 'POSITIONS';
  /** Absent when the list is of this session alone. */
  readonly talkgroup_id?: string;
  readonly server_time: number;
  readonly fixes: readonly FixRow[];
  /** Numbers of devices that left the talkgroup. Without a talkgroup they are not watched any more. */
  readonly gone?: readonly number[];
}

export interface EmergencyPosition {
  readonly type: 'EMERGENCY_POSITION';
  readonly emergency_id: string;
  readonly talkgroup_id: string;
  readonly user_id: string;
  readonly device_id: string;
  readonly lat: number;
  readonly lng: number;
  readonly updated_at: string;
  readonly speed?: number;
  readonly course?: number;
  readonly accuracy?: number;
  readonly battery?: number;
}

export type MapMessage = Watching | Positions | EmergencyPosition;

/** An open emergency, as the alarms of the console have it. */
export interface OpenEmergency {
  readonly emergency_id: string;
  readonly talkgroup_id: string;
  readonly user_id: string;
  readonly username: string;
  readonly state: 'raised' | 'acknowledged' | 'cleared';
  readonly lat?: number;
  readonly lng?: number;
  readonly raised_at: string;
  /** Where the device of the user was last. Only in snapshots. */
  readonly position?: { readonly lat: number; readonly lng: number; readonly updated_at: string };
}
