// Shows a position in words and in digits, which can be copied.
import { useSignal } from '@preact/signals';
import { nearestPlace } from '../places/places.js';
import { texts } from '../texts.js';
import { placeText } from './fields.js';

const { card: words } = texts;

export function Position({ lat, lng, accuracy }: { lat: number; lng: number; accuracy: number | null }) {
  const copied = useSignal('');
  if (Number.isNaN(lat)) return <p class="map-card-place">{words.noPosition}</p>;
  const place = placeText(lat, lng);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(place);
      copied.value = place;
    } catch {
      copied.value = ''; // NotAllowedError: the user or the browser does not permit it
    }
  };
  return (
    <div class="map-card-place">
      <p class="name line">{nearestPlace(lat, lng) ?? words.none}</p>
      <p class="name line quiet">
        {place}
        {accuracy !== null && ` · ${words.accurate(Math.round(accuracy))}`}
        {/* Only a page from this machine or by TLS has a clipboard. */}
        {'clipboard' in navigator && (
          <>
            {' · '}
            <button type="button" class="map-copy" aria-label={words.copyName} onClick={() => void copy()}>
              {words.copy}
            </button>
          </>
        )}
        <span role="status">{copied.value === place && ` ${words.copied}`}</span>
      </p>
    </div>
  );
}
