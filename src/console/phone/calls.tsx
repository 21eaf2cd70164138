// Lists the last calls, the newest first. A row is a place: its text changes, and it never moves.
import { durationText } from '../app/ages.js';
import type { Desk } from '../app/desk.js';
import { timeText } from '../app/time-of-day.js';
import type { Tile } from '../talkgroups/state.js';
import { phone as words } from './texts.js';

/** Of all talkgroups, because the phone plays all of them. Calls of another talkgroup than this one name theirs. */
export function Calls({ desk: { recent }, tile }: { desk: Desk; tile: Tile | null }) {
  return (
    <ol class="phone-list" aria-label={words.calls}>
      {recent.rows.value.map(({ talkgroupId, talkgroup, username, isOwn, endedAtMs, durationMs }, index) => (
        <li key={index}>
          <span class="quiet">{timeText(new Date(endedAtMs))}</span>
          <bdi class="line name who">{isOwn ? words.you : username}</bdi>
          <bdi class="line name quiet">{talkgroupId === tile?.id ? '' : talkgroup}</bdi>
          <span class="quiet">{durationText(durationMs)}</span>
        </li>
      ))}
    </ol>
  );
}
