// The table beside the map: the same devices for users who do not see the map, with their places in digits.
import { ageText } from '../../app/ages.js';
import type { Desk } from '../../app/desk.js';
import { nowMs } from '../../app/ticking.js';
import { Icon } from '../../icons/icon.js';
import { kmhText, placeText } from '../card/fields.js';
import type { CardOf } from '../choices.js';
import type { EmergencyMark } from '../fleet/emergencies.js';
import type { Device } from '../fleet/fleet.js';
import { freshnesses, freshnessOf } from '../fleet/freshness.js';
import type { MapState } from '../state.js';
import { texts } from '../texts.js';
import type { SortedBy, TablePage } from './table-rows.js';

export type OnShow = (card: CardOf, lng: number, lat: number) => void;

type TableProps = { map: MapState; desk: Desk; page: TablePage; onShow: OnShow };

export function PositionsTable({ map, desk, page, onShow }: TableProps) {
  const marks = map.marks.value;
  const byUser = new Map(marks.map((mark) => [mark.userId, mark]));
  const talking = new Set(map.talkers.value.map(({ username }) => username));
  const now = nowMs.value + map.connection.value.clockOffsetMs;
  const row = { now, map, desk, talking, onShow };
  return (
    <table aria-label={texts.positions}>
      <thead>
        <tr>
          <Head map={map} by="name" text={texts.user} />
          <th scope="col" class="map-digits">
            <span>{texts.latitude}</span>
          </th>
          <th scope="col" class="map-digits">
            <span>{texts.longitude}</span>
          </th>
          <Head map={map} by="speed" text={texts.speed} />
          <Head map={map} by="age" text={texts.age} />
        </tr>
      </thead>
      <tbody>
        {page.devices.map((device) => (
          <Row
            key={device.id}
            {...row}
            card={{ device: device.id }}
            of={device}
            mark={byUser.get(device.userId) ?? null}
          />
        ))}
        {/* At the end, so that no other row moves when one comes. */}
        {unwatchedOf(marks, map).map((mark) => (
          <Row
            key={mark.id}
            {...row}
            card={{ emergency: mark.id }}
            of={{ ...mark, name: '', fixedAtMs: mark.atMs, speed: null }}
            mark={mark}
          />
        ))}
      </tbody>
    </table>
  );
}

/** Emergencies of users with no device in the table. */
function unwatchedOf(marks: readonly EmergencyMark[], map: MapState): readonly EmergencyMark[] {
  if (marks.length === 0) return marks;
  const watched = new Set<string>();
  for (const { userId } of map.fleet.devices.values()) watched.add(userId);
  return marks.filter(({ userId }) => !watched.has(userId));
}

/** The order of each column that has one is fixed: names from A, the newest, the fastest. */
function Head({ map, by, text }: { map: MapState; by: SortedBy; text: string }) {
  const { sortedBy, page } = map.choices;
  const isSorted = sortedBy.value === by;
  return (
    <th
      scope="col"
      class={by === 'name' ? '' : 'map-number'}
      aria-sort={isSorted ? (by === 'speed' ? 'descending' : 'ascending') : undefined}
    >
      <button
        type="button"
        class="map-sort"
        onClick={() => {
          sortedBy.value = by;
          page.value = 0;
        }}
      >
        {text}
      </button>
    </th>
  );
}

type Shown = Pick<Device, 'userId' | 'username' | 'name' | 'lat' | 'lng' | 'fixedAtMs' | 'speed'>;

type RowProps = {
  now: number;
  map: MapState;
  desk: Desk;
  talking: ReadonlySet<string>;
  onShow: OnShow;
  card: CardOf;
  of: Shown;
  mark: EmergencyMark | null;
};

function Row({ now, map, desk, talking, onShow, card, of, mark }: RowProps) {
  const { userId, username, name, lat, lng, fixedAtMs, speed } = of;
  const id = 'device' in card ? card.device : card.emergency;
  const open = map.choices.card.value;
  const isOpen = open !== null && ('device' in open ? open.device : open.emergency) === id;
  const ids = userId === '' ? [] : map.memberships.of(userId);
  const talkgroup = [...(mark === null ? [] : [mark.talkgroupId]), ...ids][0];
  const isKnown = !Number.isNaN(lat);
  const freshness = freshnessOf(now - fixedAtMs);
  const place = isKnown ? placeText(lat, lng) : texts.unknown;
  return (
    <tr class={isOpen ? 'open' : ''} title={texts.tooltip(name, place)}>
      <th scope="row">
        <button
          type="button"
          class="map-row"
          name={`show-${id}`}
          aria-label={texts.show(username)}
          onClick={({ detail }) => onShow({ ...card, hasFocus: detail === 0 }, lng, lat)}
        />
        <Sign freshness={isKnown ? freshness : null} mark={mark} isTalking={talking.has(username)} />
        <bdi class="name line">{username}</bdi>{' '}
        {talkgroup !== undefined && (
          <bdi class="name line quiet">{desk.talkgroups.tile(talkgroup)?.view.value.name}</bdi>
        )}
        <span class="visually-hidden">
          {mark !== null && ` ${texts.emergency}`}
          {talking.has(username) && ` ${texts.isTalking}`}
        </span>
      </th>
      {isKnown ? (
        <>
          <td class="map-digits">
            <span>{lat.toFixed(5)}</span>
          </td>
          <td class="map-digits">
            <span>{lng.toFixed(5)}</span>
          </td>
          <td class="map-number">{kmhText(speed)}</td>
          <td class="map-number">
            {ageText(now - fixedAtMs)}
            <span class="visually-hidden">{texts.ageWords(freshnesses[freshness] ?? 'very old')}</span>
          </td>
        </>
      ) : (
        <td colSpan={4} class="map-number quiet">
          {texts.unknown}
        </td>
      )}
    </tr>
  );
}

/** The same as the marker on the map. */
function Sign({
  freshness,
  mark,
  isTalking,
}: {
  freshness: number | null;
  mark: EmergencyMark | null;
  isTalking: boolean;
}) {
  return (
    <span class={`map-sign ${isTalking ? 'talking' : ''}`} aria-hidden="true">
      {mark !== null ? (
        <Icon name="triangle-alert" />
      ) : (
        freshness !== null && <span class={`map-age map-age-${freshness}`} />
      )}
    </span>
  );
}
