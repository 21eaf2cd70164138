// The table beside the map: the same devices for users who do not see the map, with their places in digits.
import { ageText } from '../app/ages.js';
import { nowMs } from '../app/ticking.js';
import type { EmergencyMark } from './emergencies.js';
import type { Device } from './fleet.js';
import { freshnesses, freshnessOf } from './freshness.js';
import type { MapState } from './state.js';
import { texts } from './texts.js';

export function PositionsTable({
  map,
  onShow,
}: {
  map: MapState;
  onShow: (lng: number, lat: number) => void;
}) {
  // Rendered once a second, and not with every batch: each row that changes costs main thread time.
  const marks = map.marks.value;
  const emergencyUsers = new Set(marks.map(({ userId }) => userId));
  const { devices, found, page, pages } = map.rows.page({
    ...{ start: map.start.value, page: map.page.value, emergencyUsers },
  });
  const now = nowMs.value + map.connection.value.clockOffsetMs;
  const unwatched = marks.length === 0 ? marks : unwatchedOf(marks, map);
  const turn = (to: number) => {
    map.page.value = to;
  };
  return (
    <>
      <label class="field">
        {texts.search}
        <input
          type="search"
          autocomplete="off"
          value={map.start.value}
          onInput={(event) => {
            map.start.value = event.currentTarget.value;
            map.page.value = 0;
          }}
        />
      </label>
      <div class="map-table">
        <table aria-label={texts.positions}>
          <thead>
            <tr>
              <th scope="col">{texts.user}</th>
              <th scope="col">{texts.latitude}</th>
              <th scope="col">{texts.longitude}</th>
              <th scope="col">{texts.age}</th>
            </tr>
          </thead>
          <tbody>
            {unwatched.map((mark) => (
              <MarkRow key={mark.id} mark={mark} now={now} onShow={onShow} />
            ))}
            {devices.map((device) => (
              <DeviceRow
                key={device.id}
                device={device}
                now={now}
                map={map}
                isEmergency={emergencyUsers.has(device.userId)}
                onShow={onShow}
              />
            ))}
          </tbody>
        </table>
      </div>
      {found === 0 && map.start.value !== '' && <p class="quiet">{texts.empty}</p>}
      {pages > 1 && (
        <div class="row">
          <button type="button" aria-disabled={page === 0} onClick={() => turn(Math.max(0, page - 1))}>
            {texts.previous}
          </button>
          <span class="quiet" role="status">
            {texts.page(page + 1, pages)}
          </span>
          <button
            type="button"
            aria-disabled={page === pages - 1}
            onClick={() => turn(Math.min(pages - 1, page + 1))}
          >
            {texts.next}
          </button>
        </div>
      )}
    </>
  );
}

/** Emergencies of users with no device in the table. */
function unwatchedOf(marks: readonly EmergencyMark[], map: MapState): EmergencyMark[] {
  const watched = new Set<string>();
  for (const { userId } of map.fleet.devices.values()) watched.add(userId);
  return marks.filter(({ userId }) => !watched.has(userId));
}

interface RowProps {
  now: number;
  onShow: (lng: number, lat: number) => void;
}

function DeviceRow({
  device,
  now,
  map,
  isEmergency,
  onShow,
}: RowProps & { device: Device; map: MapState; isEmergency: boolean }) {
  const { id, name, username, lat, lng, fixedAtMs } = device;
  const isTrailed = map.trailed.value.has(id);
  const toggle = () => {
    const next = new Set(map.trailed.peek());
    if (!next.delete(id)) next.add(id);
    map.trailed.value = next;
  };
  return (
    <tr>
      <th scope="row">
        <span class="name map-user">{username}</span>
        {isEmergency && <strong class="error"> {texts.emergency}</strong>}
        <span class="quiet name map-user">{texts.device(name)}</span>
        <span class="row map-buttons">
          <ShowButton username={username} lng={lng} lat={lat} onShow={onShow} />
          <button type="button" aria-pressed={isTrailed} aria-label={texts.trail(username)} onClick={toggle}>
            {texts.trailShort}
          </button>
        </span>
      </th>
      <Place lat={lat} lng={lng} atMs={fixedAtMs} now={now} />
    </tr>
  );
}

function MarkRow({ mark, now, onShow }: RowProps & { mark: EmergencyMark }) {
  const { username, lat, lng, atMs } = mark;
  return (
    <tr>
      <th scope="row">
        <span class="name map-user">{username}</span>
        <strong class="error"> {texts.emergency}</strong>
        <span class="row map-buttons">
          <ShowButton username={username} lng={lng} lat={lat} onShow={onShow} />
        </span>
      </th>
      <Place lat={lat} lng={lng} atMs={atMs} now={now} />
    </tr>
  );
}

function ShowButton({
  username,
  lng,
  lat,
  onShow,
}: Pick<RowProps, 'onShow'> & { username: string; lng: number; lat: number }) {
  const isKnown = !Number.isNaN(lat);
  return (
    <button
      type="button"
      aria-label={texts.show(username)}
      aria-disabled={!isKnown}
      onClick={() => {
        if (isKnown) onShow(lng, lat);
      }}
    >
      {texts.map}
    </button>
  );
}

function Place({ lat, lng, atMs, now }: { lat: number; lng: number; atMs: number; now: number }) {
  if (Number.isNaN(lat)) return <td colSpan={3}>{texts.unknown}</td>;
  const freshness = freshnessOf(now - atMs);
  return (
    <>
      <td>{lat.toFixed(5)}</td>
      <td>{lng.toFixed(5)}</td>
      <td>
        <span class={`map-age map-age-${freshness}`} aria-hidden="true" />
        {texts.ageWords(ageText(now - atMs), freshnesses[freshness] ?? 'very old')}
      </td>
    </>
  );
}
