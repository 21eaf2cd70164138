// Connects the map with the desk: the worker's messages, the talkgroups and the alarms of the page.
import { computed } from '@preact/signals';
import { systemClock } from '../../client/clock.js';
import type { ClientMessage, Emergency } from '../../client/radio.js';
import type { Desk } from '../app/desk.js';
import { createMapState, type MapState } from './state.js';
import type { MapMessage } from './wire.js';

const ofDesk = new WeakMap<Desk, MapState>();

/** The same as long as the page is open. What was seen is forgotten when the tab is closed. */
export function mapOf(desk: Desk): MapState {
  const known = ofDesk.get(desk);
  if (known !== undefined) return known;
  const map = createMapState({
    // The wire types of the map name the fields that it needs of these messages.
    port: { request: (message) => desk.link.request(message as unknown as ClientMessage) },
    onMessage: (listener) => desk.link.onMessage((message) => listener(message as unknown as MapMessage)),
    connection: computed(() => {
      const { state, opened, clockOffsetMs } = desk.connection.value;
      return { opened: state === 'open' ? opened : null, clockOffsetMs };
    }),
    talkgroups: computed(() =>
      desk.talkgroups.tiles.value.map(({ id, view }) => ({ id, name: view.value.name })),
    ),
    emergencies: computed(() => desk.alarms.open.value.toSorted(byUrgency)),
    after: systemClock.after,
  });
  ofDesk.set(desk, map);
  return map;
}

/** Those not acknowledged first, then the newest. The map follows the first. */
function byUrgency(one: Emergency, other: Emergency): number {
  if (one.state !== other.state) return one.state === 'raised' ? -1 : 1;
  return other.raised_at.localeCompare(one.raised_at);
}

/** The tab is closed: its trails end with it. */
export function forgetMap(desk: Desk): void {
  ofDesk.delete(desk);
}
