// Connects the map with the desk: the worker's messages, the talkgroups and the alarms of the page.
import { computed } from '@preact/signals';
import { systemClock } from '../../client/clock.js';
import type { ClientMessage, Emergency } from '../../client/radio.js';
import type { Rest } from '../../client/rest.js';
import type { Desk } from '../app/desk.js';
import type { MapMessage } from './fleet/wire.js';
import { createMapState, type MapState } from './state.js';

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
    talking: computed(
      () =>
        new Set(
          desk.talkgroups.tiles.value.flatMap(({ view }) =>
            view.value.talkers.map(({ username }) => username),
          ),
        ),
    ),
    readMembers: (id) => readMembers(desk.account.rest, id),
    shelf: localStorage,
    after: systemClock.after,
  });
  ofDesk.set(desk, map);
  return map;
}

/** At most 1,000, as one page has. LIMIT: of a larger talkgroup not all users are known. Reading all pages would lift it. */
async function readMembers(rest: Rest, talkgroupId: string): Promise<string[]> {
  const path = `/talkgroups/${encodeURIComponent(talkgroupId)}/members?limit=1000`;
  const { members } = await rest.get<{ members: readonly { user_id: string }[] }>(path);
  return members.map(({ user_id }) => user_id);
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
