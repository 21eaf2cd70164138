// Plots as SVG, drawn by Apache ECharts without a browser: percentile curves, curves on any axes, bars with whiskers.
import { BarChart, CustomChart, type CustomSeriesOption, LineChart } from 'echarts/charts';
import { GridComponent } from 'echarts/components';
import { type EChartsCoreOption, init, use } from 'echarts/core';
import { SVGRenderer } from 'echarts/renderers';
import type { Axis, Bar, Plot, Series } from '../figures/result.js';
import { figure } from '../figures/wording.js';
import type { Look, Looks } from './looks.js';
import { linearScale, logScale, percentileScale, type Scale } from './scales.js';

use([BarChart, CustomChart, LineChart, GridComponent, SVGRenderer]);

const WIDTH = 640;
const HEIGHT = 380;
const BAR_HEIGHT = 38;
const INK = '#1a1a1a';
const GRID_LINE = '#dcdcdc';
const FONT_SIZE = 13;
const FONT = "'Segoe UI', 'DejaVu Sans', Helvetica, Arial, sans-serif";
/** More points than these are a line without symbols. */
const SYMBOLS_MAX = 30;

/** SVG markup to stand in a page. */
export function drawPlot(plot: Plot, looks: Looks): string {
  switch (plot.kind) {
    case 'percentiles':
      return draw(HEIGHT, percentilesOption(plot.series, looks));
    case 'curve':
      return draw(HEIGHT, curveOption(plot, looks));
    case 'bars':
      return draw(70 + BAR_HEIGHT * plot.bars.length, barsOption(plot, looks));
  }
}

function draw(height: number, option: EChartsCoreOption): string {
  const chart = init(null, null, { renderer: 'svg', ssr: true, width: WIDTH, height });
  try {
    chart.setOption({
      animation: false,
      textStyle: { fontFamily: FONT, color: INK, fontSize: FONT_SIZE },
      ...option,
    });
    // Namespaces are for files of their own. Without them a page holds no address at all.
    return chart.renderToSVGString().replace(/ xmlns(:\w+)?="[^"]*"/g, '');
  } finally {
    chart.dispose();
  }
}

function percentilesOption(all: readonly Series[], looks: Looks): EChartsCoreOption {
  const series = all.map(withoutPlateau);
  const points = series.flatMap((one) => one.points);
  const x = percentileScale(points.map(([percentile]) => percentile));
  const y = logScale(points.map(([, ms]) => ms));
  const told = new Set(x.ticks.map(({ at }) => at));
  return {
    grid: gridFor(series),
    xAxis: axis(x, '% of deliveries that were faster', X_NAME),
    yAxis: axis(y, 'latency (ms)', Y_NAME),
    series: series.map((one, i) => line(one, { x, y, looks, hasSymbol: (at) => told.has(at), z: -i })),
  };
}

/** Of 250 deliveries the longest is also the 99.9th percentile: a line must not look level for want of deliveries. */
function withoutPlateau({ name, points }: Series): Series {
  const longest = Math.max(...points.map(([, ms]) => ms));
  return {
    name,
    points: points.filter(([percentile, ms], i) => percentile >= 100 || ms < longest || i === 0),
  };
}

function curveOption(
  { x: across, y: up, series }: { x: Axis; y: Axis; series: readonly Series[] },
  looks: Looks,
): EChartsCoreOption {
  const points = series.flatMap((one) => one.points);
  const scale = ({ scale }: Axis, values: number[]) => (scale === 'log' ? logScale : linearScale)(values);
  const x = scale(
    across,
    points.map((point) => point[0]),
  );
  const y = scale(
    up,
    points.map((point) => point[1]),
  );
  const hasSymbol = () => series.every((one) => one.points.length <= SYMBOLS_MAX);
  return {
    grid: gridFor(series),
    xAxis: axis(x, titleOf(across), X_NAME),
    yAxis: axis(y, titleOf(up), Y_NAME),
    series: series.map((one, i) => line(one, { x, y, looks, hasSymbol, z: -i })),
  };
}

const titleOf = ({ label, unit }: Axis) => (unit === '' ? label : `${label} (${unit})`);

/** Names of lines stand in the right margin, where the lines end. */
function gridFor(series: readonly Series[]): object {
  const letters = Math.max(...series.map(({ name }) => name.length));
  return { left: 62, right: 24 + NAME_LETTER * Math.min(letters, NAME_LETTERS_MAX), top: 16, bottom: 52 };
}

/** A bold letter of FONT_SIZE is so wide. A longer name is broken. */
const NAME_LETTER = 8;
const NAME_LETTERS_MAX = 20;
const X_NAME = { nameLocation: 'middle', nameGap: 32 };
const Y_NAME = { nameLocation: 'middle', nameGap: 46 };

function axis({ min, max, ticks }: Scale, name: string, place: object): object {
  const customValues = ticks.map(({ at }) => at);
  const labels = new Map(ticks.map(({ at, label }) => [at, label]));
  return {
    type: 'value',
    name,
    ...place,
    nameTextStyle: { color: INK, fontSize: FONT_SIZE },
    min,
    max,
    axisLine: { show: true, onZero: false, lineStyle: { color: INK } },
    axisTick: { show: true, customValues },
    axisLabel: {
      color: INK,
      fontSize: FONT_SIZE,
      customValues,
      formatter: (at: number) => labels.get(at) ?? '',
    },
    splitLine: { show: true, customValues, lineStyle: { color: GRID_LINE } },
  };
}

interface Drawn {
  readonly x: Scale;
  readonly y: Scale;
  readonly looks: Looks;
  readonly hasSymbol: (at: number) => boolean;
  /** The first, which is ours, lies on top. */
  readonly z: number;
}

function line({ name, points }: Series, { x, y, looks, hasSymbol, z }: Drawn): object {
  const { colour, dash, symbol } = lookOf(name, looks);
  return {
    type: 'line',
    name,
    z: 20 + z,
    data: points
      .map(([across, up]) => [x.place(across), y.place(up)])
      .filter((at) => at.every(Number.isFinite)),
    color: colour,
    lineStyle: { color: colour, width: 2, type: dash },
    symbol,
    showSymbol: true,
    symbolSize: ([at]: [number]) => (hasSymbol(at) ? 8 : 0),
    endLabel: {
      show: true,
      color: colour,
      fontSize: FONT_SIZE,
      fontWeight: 'bold',
      formatter: name,
      width: NAME_LETTER * NAME_LETTERS_MAX,
      overflow: 'break',
    },
    labelLayout: { moveOverlap: 'shiftY' },
    emphasis: { disabled: true },
  };
}

/** Of a bar that shares its name with no line. */
const PLAIN: Look = { colour: '#5b6b7b', dash: 'solid', symbol: 'circle' };
const lookOf = (name: string, looks: Looks): Look => looks.get(name) ?? PLAIN;

function barsOption({ unit, bars }: { unit: string; bars: readonly Bar[] }, looks: Looks): EChartsCoreOption {
  const x = linearScale(bars.flatMap(({ value, low, high }) => [value, low ?? value, high ?? value]));
  const heights = bars.map(({ name, value }) => ({
    value,
    itemStyle: { color: lookOf(name, looks).colour },
  }));
  return {
    grid: BARS_GRID,
    xAxis: axis(x, unit === '' ? 'ratio' : unit, X_NAME),
    yAxis: {
      type: 'category',
      inverse: true,
      data: bars.map(({ name }) => name),
      axisTick: { show: false },
      axisLine: { lineStyle: { color: INK } },
      axisLabel: { color: INK, fontSize: FONT_SIZE, width: 176, overflow: 'break' },
    },
    series: [
      { type: 'bar', barWidth: 18, data: heights, emphasis: { disabled: true } },
      {
        type: 'custom',
        z: 10,
        encode: { x: 0, y: 1 },
        data: bars.map(({ value }, i) => [value, i]),
        renderItem: whiskers(bars, unit),
      },
    ],
  };
}

/** Names on the left. Figures on the right of the longest bar. */
const BARS_GRID = { left: 190, right: 150, top: 10, bottom: 52 };
const WHISKER_END = 5;

/** From quartile to quartile, with the figures behind. */
function whiskers(bars: readonly Bar[], unit: string): CustomSeriesOption['renderItem'] {
  return ({ dataIndex }, { coord }) => {
    const bar = bars[dataIndex];
    if (bar === undefined || !Number.isFinite(bar.value)) return null;
    const { value, low = value, high = value } = bar;
    const [[from = 0, y = 0], [to = 0], [end = 0]] = [
      coord([low, dataIndex]),
      coord([high, dataIndex]),
      coord([Math.max(value, high), dataIndex]),
    ];
    const strokes = (x1: number, y1: number, x2: number, y2: number) =>
      // A bar may be as dark as ink: a white edge parts them.
      [
        { stroke: '#ffffff', lineWidth: 4 },
        { stroke: INK, lineWidth: 2 },
      ].map((style) => ({ type: 'line' as const, shape: { x1, y1, x2, y2 }, style }));
    const ends = low === high ? [] : [from, to];
    const figures = low === high ? '' : ` (${figure(low, unit)} to ${figure(high, unit)})`;
    const style = { text: figure(value, unit) + figures, fill: INK, fontSize: 12, fontFamily: FONT };
    return {
      type: 'group',
      children: [
        ...ends.flatMap((x) => strokes(x, y - WHISKER_END, x, y + WHISKER_END)),
        ...(ends.length > 0 ? strokes(from, y, to, y) : []),
        { type: 'text', x: end + 8, y, style: { ...style, textVerticalAlign: 'middle' } },
      ],
    };
  };
}
