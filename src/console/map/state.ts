// The state of the map tab: what is watched, what is known of each device, and what the user has chosen to see.
import { batch, computed, effect, type ReadonlySignal, signal } from '@preact/signals';
import type { Shelf } from '../settings/state.js';
import { createChoices, type MapChoices } from './choices.js';
import { createTableRows, type TableRows } from './drawer/table-rows.js';
import type { DrawnTrail } from './features.js';
import { type EmergencyMark, marksOf, type Place } from './fleet/emergencies.js';
import { createFleet, type Fleet } from './fleet/fleet.js';
import { createMemberships, type Memberships } from './fleet/memberships.js';
import { type TalkerMark, talkersOn } from './fleet/talkers.js';
import { TRAIL_POINTS } from './fleet/trail.js';
import { createWatch, WATCHED_TALKGROUPS, type Watch, type WatchPort } from './fleet/watch.js';
import type { MapMessage, OpenEmergency } from './fleet/wire.js';

export interface WatchedTalkgroup {
  readonly id: string;
  readonly name: string;
}

export interface Connection {
  /** Counts connections, so that each one is asked to watch. null: not connected. */
  readonly opened: number | null;
  /** Unix time of the server minus that of this computer (ms). */
  readonly clockOffsetMs: number;
}

export interface MapParts {
  readonly port: WatchPort;
  /** Returns a function that ends it. */
  onMessage(listener: (message: MapMessage) => void): () => void;
  readonly connection: ReadonlySignal<Connection>;
  /** Of the user, sorted by name. */
  readonly talkgroups: ReadonlySignal<readonly WatchedTalkgroup[]>;
  readonly emergencies: ReadonlySignal<readonly OpenEmergency[]>;
  /** Usernames of those who talk now. */
  readonly talking: ReadonlySignal<ReadonlySet<string>>;
  /** Resolves with the user ids. Rejects when the service does not answer. */
  readMembers(talkgroupId: string): Promise<readonly string[]>;
  readonly shelf: Shelf;
  /** Runs later. Returns a function that cancels it. */
  after(ms: number, run: () => void): () => void;
}

export const POINTS_OF_A_TRAIL = TRAIL_POINTS;

/** One drawing for all messages of a batch, which come within a few ms of each other. */
const SETTLE_MS = 50;
/** Between a device that left one of several talkgroups and the WATCH that lists the devices anew. */
const LIST_MS = 2000;

export interface MapState {
  readonly fleet: Fleet;
  readonly watch: Watch;
  readonly rows: TableRows;
  readonly memberships: Memberships;
  readonly choices: MapChoices;
  /** Changes after each batch. Views that read it are rendered anew. */
  readonly edition: ReadonlySignal<number>;
  readonly connection: ReadonlySignal<Connection>;
  readonly talkgroups: ReadonlySignal<readonly WatchedTalkgroup[]>;
  /** Ids of the watched talkgroups. */
  readonly chosen: ReadonlySignal<ReadonlySet<string>>;
  choose(id: string, isWatched: boolean): void;
  /** Trails on the map now: of emergencies, and where the user wants one. */
  trails(): DrawnTrail[];
  /** Open emergencies with a place. Reads `edition`. */
  readonly marks: ReadonlySignal<readonly EmergencyMark[]>;
  /** Users who talk, with a place. Reads `edition`. */
  readonly talkers: ReadonlySignal<readonly TalkerMark[]>;
  /** Begins to watch. Returns what ends it. */
  open(): () => void;
  /** The page is hidden. `show` goes on. */
  hide(): void;
  show(): void;
}

export function createMapState(parts: MapParts): MapState {
  const fleet = createFleet();
  const edition = signal(0);
  const places = new Map<string, Place>();
  const wanted = signal<ReadonlySet<string>>(new Set());
  const unwanted = signal<ReadonlySet<string>>(new Set());
  const choices = createChoices(parts.shelf);
  const { trailed } = choices;
  const watch = createWatch(parts.port, parts.after);
  let isShown = false;
  let cancelSettling: (() => void) | null = null;
  let cancelListing: (() => void) | null = null;

  const chosen = computed(() => {
    const ids = parts.talkgroups.value.map(({ id }) => id);
    // Those that the user has chosen come first, because there may be more than one WATCH takes.
    const first = [...wanted.value].filter((id) => ids.includes(id));
    const others = ids.filter((id) => !wanted.value.has(id) && !unwanted.value.has(id));
    return new Set([...first, ...others].slice(0, WATCHED_TALKGROUPS));
  });
  const chosenText = computed(() => [...chosen.value].join());

  const marks = computed(() => {
    edition.value;
    return marksOf(parts.emergencies.value, places, fleet);
  });

  const talkers = computed(() => {
    edition.value;
    return talkersOn(parts.talking.value, fleet.devices.values(), marks.value);
  });
  const memberships = createMemberships(chosen, parts.readMembers);

  function take(message: MapMessage): void {
    if (message.type === 'WATCHING') {
      fleet.watching(message);
      memberships.watching(message);
    } else if (message.type === 'POSITIONS') {
      const isOnlyList = chosen.peek().size < 2;
      fleet.positions(message, isOnlyList);
      const { gone = [], talkgroup_id } = message;
      // The devices may still be in another talkgroup. The next list says so.
      if (gone.length > 0 && talkgroup_id !== undefined && !isOnlyList) listAgain();
    } else if (message.type === 'EMERGENCY_POSITION') {
      const { emergency_id, lat, lng, updated_at } = message;
      places.set(emergency_id, { lat, lng, atMs: Date.parse(updated_at) });
      fleet.emergency(message);
    } else return;
    cancelSettling ??= parts.after(SETTLE_MS, () => {
      cancelSettling = null;
      forgetClosed();
      edition.value += 1;
    });
  }

  /** At most one WATCH in this time, however many devices leave. */
  function listAgain(): void {
    cancelListing ??= parts.after(LIST_MS, () => {
      cancelListing = null;
      renew();
    });
  }

  /** Places of emergencies that are cleared, and trails of devices that left. */
  function forgetClosed(): void {
    const open = new Set(parts.emergencies.peek().map(({ emergency_id }) => emergency_id));
    for (const id of places.keys()) if (!open.has(id)) places.delete(id);
    const kept = [...trailed.peek()].filter((id) => fleet.devices.has(id));
    if (kept.length < trailed.peek().size) trailed.value = new Set(kept);
  }

  function renew(): void {
    if (isShown) watch.watch(chosenText.peek() === '' ? [] : chosenText.peek().split(','));
    else watch.stop();
  }

  return {
    ...{ fleet, watch, edition, chosen, choices, memberships, marks, talkers },
    connection: parts.connection,
    talkgroups: parts.talkgroups,
    rows: createTableRows(fleet),
    choose(id, isWatched) {
      batch(() => {
        wanted.value = changed(wanted.peek(), id, isWatched);
        unwanted.value = changed(unwanted.peek(), id, !isWatched);
      });
    },
    trails() {
      const inEmergency = new Set(marks.peek().map(({ userId }) => userId));
      if (inEmergency.size + trailed.peek().size === 0) return [];
      const trails: DrawnTrail[] = [];
      for (const device of fleet.devices.values()) {
        const isAlarm = inEmergency.has(device.userId);
        if (isAlarm || trailed.peek().has(device.id)) trails.push({ device, isAlarm });
      }
      return trails;
    },
    open() {
      isShown = true;
      const endMessages = parts.onMessage(take);
      let opened: number | null = null;
      const endConnection = effect(() => {
        const now = parts.connection.value.opened;
        if (now === opened) return;
        opened = now;
        fleet.interrupt();
        if (now === null) watch.disconnected();
        else watch.connected();
      });
      const endChosen = effect(() => {
        chosenText.value;
        renew();
        memberships.read();
      });
      return () => {
        isShown = false;
        for (const end of [endChosen, endConnection, endMessages]) end();
        watch.stop();
        cancelSettling?.();
        cancelListing?.();
        cancelSettling = null;
        cancelListing = null;
      };
    },
    hide() {
      isShown = false;
      fleet.interrupt();
      renew();
    },
    show() {
      if (isShown) return;
      isShown = true;
      renew();
    },
  };
}

function changed(set: ReadonlySet<string>, id: string, isIn: boolean): ReadonlySet<string> {
  const next = new Set(set);
  if (isIn) next.add(id);
  else next.delete(id);
  return next;
}
