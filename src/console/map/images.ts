// Draws the small images of the map: the triangle of a course, the sign of an alarm, and the box of a talker's name.
import type { Map as MapLibreMap } from 'maplibre-gl';
import { ageColours, emergencyColour, images, talkColour, white } from './style.js';

/** Drawn larger than shown, for screens with small pixels. */
const RATIO = 3;

/** Adds them to a map with a new style. */
export function addImages(map: MapLibreMap): void {
  for (const [age, colour] of ageColours.entries())
    add(map, `${images.course}${age}`, 12, triangle(colour, 10));
  add(map, images.alarm, 16, triangle(white, 13));
  add(map, images.acknowledged, 16, triangle(emergencyColour, 13));
  add(map, images.talk, 16, box(talkColour), STRETCH);
  add(map, images.talkInAlarm, 16, box(emergencyColour), STRETCH);
}

type Pen = OffscreenCanvasRenderingContext2D;
type Draw = (pen: Pen, size: number) => void;

/** Of the box: its corners of 4 px stay round. */
const STRETCH = (() => {
  const middle: [number, number] = [5 * RATIO, 11 * RATIO];
  return { stretchX: [middle], stretchY: [middle] };
})();

function add(map: MapLibreMap, name: string, size: number, draw: Draw, options: object = {}): void {
  const canvas = new OffscreenCanvas(size * RATIO, size * RATIO);
  const pen = canvas.getContext('2d');
  if (pen === null) return; // the browser is out of memory, and the marker lacks its sign
  pen.scale(RATIO, RATIO);
  draw(pen, size);
  const image = pen.getImageData(0, 0, canvas.width, canvas.height);
  if (!map.hasImage(name)) map.addImage(name, image, { pixelRatio: RATIO, ...options });
}

/** Points up, in the middle of the image. */
const triangle =
  (colour: string, height: number): Draw =>
  (pen, size) => {
    const [middle, top] = [size / 2, (size - height) / 2];
    pen.beginPath();
    pen.moveTo(middle, top);
    pen.lineTo(middle + height * 0.55, top + height);
    pen.lineTo(middle - height * 0.55, top + height);
    pen.closePath();
    pen.fillStyle = colour;
    pen.fill();
  };

const box =
  (colour: string): Draw =>
  (pen, size) => {
    pen.beginPath();
    pen.roundRect(0, 0, size, size, 4);
    pen.fillStyle = colour;
    pen.fill();
  };
