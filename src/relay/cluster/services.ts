// Describes what the streams of one relay use: its bus, and what of the relay they tell the others of.
import type { Clock } from '../clock.js';
import type { Fanout } from '../delivery/fanout.js';
import type { EmergenciesElsewhere } from '../emergencies/elsewhere.js';
import type { RemoteServices } from '../floor/remote.js';
import type { Talkgroup } from '../members/members.js';
import type { Bus } from '../nodes/bus.js';
import type { HeaderWriter } from '../nodes/header.js';
import type { Presence } from '../presence/presence.js';
import type { SharedAuthority } from '../shared-floor/authority.js';
import type { TurnsServices } from '../shared-floor/turns/turns.js';
import type { Settings } from './bodies.js';
import type { ClusterCounts } from './counts.js';
import type { Members } from './members.js';

export interface StreamServices {
  /** Id of this relay. */
  readonly relay: number;
  readonly bus: Pick<Bus, 'publish'>;
  readonly writer: HeaderWriter;
  readonly counts: ClusterCounts;
  readonly fanout: Pick<Fanout, 'onlineHere'>;
  /** Plays bursts of other relays. */
  readonly remote: RemoteServices;
  readonly presence: Pick<Presence, 'isWatched' | 'watchedElsewhere'>;
  readonly members: Members;
  readonly emergencies: EmergenciesElsewhere;
  readonly floors: SharedAuthority;
  readonly turns: TurnsServices;
  /** Times that the session of this relay with this number has moved. undefined: it is not here. */
  readonly movesOf: (session: number) => number | undefined;
  /** Another relay has these settings. */
  readonly settled: (talkgroup: Talkgroup, settings: Settings) => void;
  /** Whether the other relay is of this node. */
  readonly isNear: (relay: number) => boolean;
  /** Whether this relay, or another one, ends soon. */
  readonly isDraining: (relay: number) => boolean;
  /** Asks this relay what it has of the talkgroup. */
  readonly ask: (relay: number, number: number) => void;
  readonly clock: Clock;
}

/** As the others are told them. */
export const settingsBody = (talkgroup: Talkgroup): Settings => ({
  revision: talkgroup.revision,
  floor_mode: talkgroup.floorMode,
  max_talk_ms: talkgroup.maxTalkMs,
  encryption: talkgroup.encryption,
  clear_emergency: talkgroup.emergencyMayBeClear,
  recording_days: talkgroup.recordingDays,
});
