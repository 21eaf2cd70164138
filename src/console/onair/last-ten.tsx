// Lists the last ten talks. A row is a place: its text changes, and it never moves.
import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { durationText } from '../app/ages.js';
import type { Desk } from '../app/desk.js';
import { timeText } from '../app/time-of-day.js';
import { Icon } from '../icons/icon.js';
import type { RecentBurst } from '../worker/messages.js';
import { onAir as words } from './texts.js';
import { goToTile } from './tile.js';

export function LastTen({ desk: { recent } }: { desk: Desk }) {
  const rows = recent.rows.value;
  const waiting = recent.waiting.value;
  const inside = useRef({ pointer: false, focus: false });
  const keep = (what: Partial<typeof inside.current>) => {
    Object.assign(inside.current, what);
    recent.keep(inside.current.pointer || inside.current.focus);
  };
  return (
    <section
      class="last-ten"
      aria-label={words.lastTen}
      data-region="last-ten"
      onPointerEnter={() => keep({ pointer: true })}
      onPointerLeave={() => keep({ pointer: false })}
      onFocusIn={() => keep({ focus: true })}
      onFocusOut={({ currentTarget, relatedTarget }) =>
        keep({ focus: relatedTarget instanceof Node && currentTarget.contains(relatedTarget) })
      }
    >
      <div class="head">
        <h2>
          <Icon name="history" />
          {words.lastTen}
        </h2>
        <p class={waiting > 0 ? 'fresh' : 'quiet'}>
          {waiting > 0 ? words.fresh(waiting) : words.newestFirst}
        </p>
      </div>
      {rows.length === 0 ? <p class="quiet none">{words.none}</p> : <Rows rows={rows} />}
    </section>
  );
}

/** One stop of the Tab key. The arrow keys move between the rows, which are too low for a target each. */
function Rows({ rows }: { rows: readonly RecentBurst[] }) {
  const current = useSignal(0);
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
        <li key={index}>
          <button
            type="button"
            class={row.isOwn ? 'own' : ''}
            tabIndex={index === current.value ? 0 : -1}
            onFocus={() => {
              current.value = index;
            }}
            onClick={() => goToTile(row.talkgroupId)}
          >
            <span class="quiet">{timeText(new Date(row.endedAtMs))}</span>
            <bdi class="line name who">{row.isOwn ? words.you : row.username}</bdi>
            <bdi class="line name">{row.talkgroup}</bdi>
            <span class="quiet">{durationText(row.durationMs)}</span>
          </button>
        </li>
      ))}
    </ol>
  );
}
