// Shows the scale of the map, and the coordinates of the graticule at its edges.
import type { Drawing } from '../drawing.js';
import { texts } from '../texts.js';
import { graticuleIn, latitudeText, longitudeText, stepOf } from './graticule.js';
import { scaleBar } from './scale.js';

type OverlayProps = {
  drawing: Drawing;
  /** What the drawer covers at the left (px). */
  left: number;
};

/** The longest bar (px). */
const BAR_PX = 140;

export function Scale({ drawing }: Pick<OverlayProps, 'drawing'>) {
  const { zoom, lat } = drawing.camera;
  const { metres, pixels } = scaleBar({ zoom, lat, maxPx: BAR_PX });
  const width = Math.round(pixels);
  return (
    <p class="map-scale">
      <svg width={width} height="8" aria-hidden="true">
        <path d={`M1 1v6h${width - 2}v-6M${width / 2} 4v3`} />
      </svg>
      {texts.metres(metres)}
    </p>
  );
}

/** Coordinates that would be under something else at the edges are left out (px). */
const KEPT = { top: 56, bottom: 64, left: 48, right: 48 } as const;

export function Coordinates({ drawing, left }: OverlayProps) {
  const { zoom, lat, bounds, project, width, height } = drawing.camera;
  const step = stepOf(zoom);
  const { meridians, parallels } = graticuleIn(bounds, step);
  const middle = (bounds.west + bounds.east) / 2;
  return (
    <svg class="map-coordinates" width="100%" height="100%" aria-hidden="true">
      {parallels.map((parallel) => {
        const { y } = project(middle, parallel);
        if (y < KEPT.top || y > height - KEPT.bottom) return null;
        return (
          <text key={`lat ${parallel}`} x={left + 8} y={Math.round(y) - 4}>
            {latitudeText(parallel, step)}
          </text>
        );
      })}
      {meridians.map((meridian) => {
        const { x } = project(meridian, lat);
        if (x < left + KEPT.left || x > width - KEPT.right) return null;
        return (
          <text key={`lng ${meridian}`} x={Math.round(x) + 4} y={height - 6}>
            {longitudeText(meridian, step)}
          </text>
        );
      })}
    </svg>
  );
}
