// Writes the table of icons/icons.ts: the icons of the console as path data, taken from the npm package of Lucide.
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PACKAGE = 'lucide-static@1.62.0';
const TARGET = 'src/console/icons/icons.ts';

/** In alphabetical order. */
const NAMES = [
  ...[
    'arrow-down-narrow-wide',
    'audio-lines',
    'check',
    'chevron-down',
    'clock',
    'ellipsis',
    'ellipsis-vertical',
  ],
  ...['headphones', 'history', 'hourglass', 'layers', 'layout-grid', 'list', 'lock', 'map'],
  ...['map-pin', 'maximize', 'mic', 'mic-off', 'minus', 'plus', 'radio', 'radio-tower', 'reply', 'search'],
  ...['settings', 'star', 'triangle-alert', 'user', 'users', 'volume-2', 'volume-x', 'wifi', 'wifi-off', 'x'],
];

/** The element and its attributes, as the package lists them. */
type Shape = readonly [string, Readonly<Record<string, string>>];

function pathOf([tag, at]: Shape): string {
  const n = (name: string) => Number(at[name] ?? 0);
  switch (tag) {
    case 'path':
      return absolute(at.d ?? '');
    case 'line':
      return `M${n('x1')} ${n('y1')}L${n('x2')} ${n('y2')}`;
    case 'polyline':
    case 'polygon':
      return `M${(at.points ?? '').trim()}${tag === 'polygon' ? 'z' : ''}`;
    case 'circle': {
      const r = n('r');
      return `M${n('cx') - r} ${n('cy')}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`;
    }
    case 'rect': {
      const [w, h, r] = [n('width'), n('height'), n('rx')];
      const corner = (x: number, y: number) => `a${r} ${r} 0 0 1 ${x} ${y}`;
      return (
        `M${n('x') + r} ${n('y')}h${w - 2 * r}${corner(r, r)}v${h - 2 * r}${corner(-r, r)}` +
        `h${2 * r - w}${corner(-r, -r)}v${2 * r - h}${corner(r, -r)}z`
      );
    }
    default:
      throw new Error(`${tag} is no shape that can be written as a path`);
  }
}

/** A path that begins with `m` would go on from the end of the one before it. */
const absolute = (path: string) =>
  path.replace(/^m(-?[\d.]+) ?(-?[\d.]+) ?(?=[-\d.])/, 'M$1 $2l').replace(/^m/, 'M');

// With a space, because the point of a number may be all that parts it from the one before.
const rounded = (path: string) =>
  path.replace(/-?\d*\.\d{3,}/g, (number) => ` ${Math.round(Number(number) * 100) / 100}`);

/** A drawing of the package has one element a line, and no nesting. */
function shapesOf(svg: string): Shape[] {
  return [...svg.matchAll(/^ {2}<(\w+) (.*) \/>$/gm)].map(([, tag = '', attributes = '']) => [
    tag,
    Object.fromEntries(
      [...attributes.matchAll(/([\w-]+)="([^"]*)"/g)].map(([, name, value]) => [name, value]),
    ),
  ]);
}

const folder = mkdtempSync(join(tmpdir(), 'icons-'));
try {
  const [archive = ''] = execFileSync('npm', ['pack', '--silent', PACKAGE], {
    cwd: folder,
    encoding: 'utf8',
  }).split('\n');
  execFileSync('tar', ['xzf', archive, 'package/icons', 'package/LICENSE'], { cwd: folder });
  copyFileSync(join(folder, 'package/LICENSE'), 'src/console/licenses/Lucide.txt');
  const lines = NAMES.map((name) => {
    const shapes = shapesOf(readFileSync(join(folder, `package/icons/${name}.svg`), 'utf8'));
    return `  '${name}': '${rounded(shapes.map(pathOf).join(''))}',\n`;
  });
  const file = readFileSync(TARGET, 'utf8');
  const [start, end] = [
    file.indexOf('{\n', file.indexOf('export const')) + 2,
    file.lastIndexOf('} as const'),
  ];
  writeFileSync(TARGET, file.slice(0, start) + lines.join('') + file.slice(end));
} finally {
  rmSync(folder, { recursive: true });
}
