// Shows the alarms beside every tab, in a region of fixed size. Each is said by screen readers when it comes, without its age.
import { type Signal, useSignal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { Desk } from '../app/desk.js';
import { useInside } from '../app/inside.js';
import { texts } from '../app/texts.js';
import { nowMs } from '../app/ticking.js';
import { Icon } from '../icons/icon.js';
import { AlarmRowView } from './row.js';
import { FLOOD_MS } from './state.js';

const { alarms: words } = texts;

/** A press so soon after the list has scrolled was meant for another row. */
const SCROLLS_MS = 150;
/** So many alarms in FLOOD_MS are a flood (ISA-18.2). */
const FLOOD = 10;

type Below = { count: number; fresh: number };
const NONE: Below = { count: 0, fresh: 0 };

export function AlarmList({ desk }: { desk: Desk }) {
  const { alarms } = desk;
  const rows = alarms.rows.value;
  const list = useRef<HTMLUListElement>(null);
  const inside = useInside(alarms.keep);
  const scrolledAtMs = useRef(Number.NEGATIVE_INFINITY);
  const below = useSignal(NONE);
  const measure = () => {
    if (list.current !== null) count(list.current, below);
  };
  useLayoutEffect(measure, [rows]);
  useLayoutEffect(() => {
    const watching = new ResizeObserver(measure);
    if (list.current !== null) watching.observe(list.current);
    return () => watching.disconnect();
  }, []);
  return (
    <section
      class={`alarms ${isNewIn(desk) ? 'new' : ''}`}
      aria-label={words.label}
      data-region="alarms"
      {...inside}
    >
      <Head desk={desk} />
      <ul
        ref={list}
        onScroll={() => {
          scrolledAtMs.current = performance.now();
          measure();
        }}
      >
        {rows.map((row) => (
          <AlarmRowView
            key={row.emergency.emergency_id}
            row={row}
            desk={desk}
            isScrolling={() => performance.now() - scrolledAtMs.current < SCROLLS_MS}
          />
        ))}
      </ul>
      {rows.length === 0 && <p class="none quiet">{words.none}</p>}
      <div class="foot">
        <Foot below={below} list={list} />
      </div>
    </section>
  );
}

const isNewIn = ({ alarms }: Desk) => alarms.open.value.some(({ state }) => state === 'raised');

function Head({ desk }: { desk: Desk }) {
  const { alarms, account } = desk;
  const open = alarms.open.value;
  const fresh = open.filter(({ state }) => state === 'raised').length;
  const serverMs = alarms.rows.value.length === 0 ? 0 : nowMs.value + desk.connection.value.clockOffsetMs;
  const raised = serverMs === 0 ? 0 : alarms.raisedAfter(serverMs - FLOOD_MS);
  const isSilent = alarms.isSilent.value && fresh > 0;
  return (
    <div class="head">
      <h2>
        <Icon name="triangle-alert" />
        {words.label}
      </h2>
      <p class="count">
        {open.length > 0 && (fresh > 0 ? words.openAndNew(open.length, fresh) : words.open(open.length))}
        {raised >= FLOOD && <strong>{words.inTenMinutes(raised)}</strong>}
      </p>
      {account.mayDispatch.value && (
        <button
          type="button"
          aria-label={words.silence}
          aria-pressed={isSilent}
          aria-disabled={fresh === 0}
          onClick={() => {
            if (fresh > 0) alarms.silence();
          }}
        >
          {words.silenceShort}
        </button>
      )}
    </div>
  );
}

/** Says how many alarms are out of sight, and scrolls to the first of them. */
function Foot({ below, list }: { below: Signal<Below>; list: { current: HTMLUListElement | null } }) {
  const { count, fresh } = below.value;
  if (count === 0) return null;
  return (
    <button
      type="button"
      onClick={() => {
        const [first] = list.current === null ? [] : hiddenIn(list.current);
        if (first !== undefined && list.current !== null) list.current.scrollTop = first.offsetTop;
      }}
    >
      {fresh > 0 ? words.belowAndNew(count, fresh) : words.below(count)}
    </button>
  );
}

function count(list: HTMLUListElement, below: Signal<Below>): void {
  const hidden = hiddenIn(list);
  const next = { count: hidden.length, fresh: hidden.filter((row) => row.querySelector('.fresh')).length };
  const { count, fresh } = below.peek();
  if (count !== next.count || fresh !== next.fresh) below.value = next;
}

/** Rows of which more than half is below the visible part. */
function hiddenIn(list: HTMLUListElement): HTMLElement[] {
  const end = list.scrollTop + list.clientHeight;
  return [...list.children]
    .filter((row) => row instanceof HTMLElement)
    .filter((row) => row.offsetTop + row.offsetHeight / 2 > end);
}
