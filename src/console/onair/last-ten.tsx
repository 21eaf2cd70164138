// Lists the last ten talks. A row is a place: its text changes, and it never moves.
import { useSignal } from '@preact/signals';
import { durationText } from '../app/ages.js';
import type { Desk } from '../app/desk.js';
import { useInside } from '../app/inside.js';
import { show } from '../app/places.js';
import { timeText } from '../app/time-of-day.js';
import { Icon } from '../icons/icon.js';
import type { RecentBurst } from '../worker/messages.js';
import { onAir as words } from './texts.js';

export function LastTen({ desk }: { desk: Desk }) {
  const { recent } = desk;
  const rows = recent.rows.value;
  const waiting = recent.waiting.value;
  return (
    <section class="last-ten" aria-label={words.lastTen} data-region="last-ten" {...useInside(recent.keep)}>
      <div class="head">
        <h2>
          <Icon name="history" />
          {words.lastTen}
        </h2>
        <p class={waiting > 0 ? 'fresh' : 'quiet'}>
          {waiting > 0 ? words.fresh(waiting) : words.newestFirst}
        </p>
      </div>
      {rows.length === 0 ? <p class="quiet none">{words.none}</p> : <Rows rows={rows} desk={desk} />}
    </section>
  );
}

/** One stop of the Tab key. The arrow keys move between the rows, which are too low for a target each. */
function Rows({ rows, desk }: { rows: readonly RecentBurst[]; desk: Desk }) {
  const current = useSignal(0);
  const replay = desk.replay.value;
  const tabIndex = (index: number) => (index === current.value ? 0 : -1);
  return (
    <ol
      onKeyDown={(event) => {
        const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
        const row = step === undefined ? undefined : event.currentTarget.children[current.peek() + step];
        if (row === undefined) return;
        event.preventDefault();
        row.querySelector('button')?.focus();
      }}
    >
      {rows.map((row, index) => (
        <li
          key={index}
          onFocusIn={() => {
            current.value = index;
          }}
        >
          <button
            type="button"
            class={row.isOwn ? 'own' : ''}
            tabIndex={tabIndex(index)}
            onClick={() => goTo(desk, row.talkgroupId)}
          >
            <span class="quiet">{timeText(new Date(row.endedAtMs))}</span>
            <bdi class="line name who">{row.isOwn ? words.you : row.username}</bdi>
            <bdi class="line name">{row.talkgroup}</bdi>
            <span class="quiet">{durationText(row.durationMs)}</span>
          </button>
          {replay !== null && (
            <replay.Row row={row} time={timeText(new Date(row.endedAtMs))} tabIndex={tabIndex(index)} />
          )}
        </li>
      ))}
    </ol>
  );
}

/** The focus stays in the list. Does nothing for a talkgroup that the user has left. */
function goTo({ talkgroups, grid }: Desk, talkgroupId: string): void {
  if (talkgroups.tile(talkgroupId) === undefined) return;
  show('talkgroups');
  grid.goTo(talkgroupId, { takesFocus: false });
}
