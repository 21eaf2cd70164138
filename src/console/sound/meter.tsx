// Shows a level as bars. A level draws anew nothing but its bars, and moves nothing.
import { computed, type ReadonlySignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { barsOf, silentBars } from '../../client/sound/level.js';

/** The width of a bar and the gap behind it, in the units of the drawing. */
const STEP = 6;
const BAR = 4;
const HEIGHT = 14;

/** `hasMark`: a line at the level below which speech is not heard. */
export function Meter({
  level,
  bars,
  hasMark = false,
}: {
  /** The peak of the last 100 ms, from 0 to 1. */
  level: ReadonlySignal<number>;
  bars: number;
  hasMark?: boolean;
}) {
  const lit = useMemo(() => computed(() => barsOf(level.value, bars)), [level, bars]);
  const at = silentBars(bars) * STEP - (STEP - BAR) / 2;
  return (
    <svg class="meter" viewBox={`0 0 ${bars * STEP} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
      {Array.from({ length: bars }, (_, bar) => (
        <Bar key={bar} bar={bar} lit={lit} />
      ))}
      {hasMark && <path class="mark-line" d={`M${at} 0v${HEIGHT}`} />}
    </svg>
  );
}

function Bar({ bar, lit }: { bar: number; lit: ReadonlySignal<number> }) {
  const look = useMemo(() => computed(() => (bar < lit.value ? 'lit' : '')), [bar, lit]);
  return <rect class={look} x={bar * STEP} width={BAR} height={HEIGHT} />;
}
