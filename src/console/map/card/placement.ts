// Decides where the card of a device is: beside its marker, on the side with more room, and never over it.

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Box extends Point {
  readonly width: number;
  readonly height: number;
}

export interface Layout {
  /** Where the card may be (px): the map without what floats at its edges. */
  readonly room: Box;
  readonly card: { readonly width: number; readonly height: number };
  readonly marker: Point;
}

/** From the marker to the card (px): the ring of the marker has room. */
const GAP = 44;
/** The same where there is room for it: the usual name below a marker, and the words above one that talks. */
const WIDE_GAP = 84;
/** From the upper edge of a card to the marker beside it (px): below the words above the marker. */
const BELOW_WORDS = 16;
/** From the edges of the room (px). */
const EDGE = 8;

/** The upper left corner of the card. */
export function placeCard({ room, card, marker }: Layout): Point {
  const left = marker.x - room.x;
  const right = room.x + room.width - marker.x;
  const space = Math.max(left, right) - card.width - EDGE;
  if (space >= GAP) {
    const gap = Math.min(space, WIDE_GAP);
    const x = right >= left ? marker.x + gap : marker.x - gap - card.width;
    return inside({ x, y: marker.y - BELOW_WORDS }, room, card);
  }
  // A phone has no room beside it.
  const above = marker.y - room.y;
  const below = room.y + room.height - marker.y;
  const y = below >= above ? marker.y + GAP : marker.y - GAP - card.height;
  return inside({ x: marker.x - card.width / 2, y }, room, card);
}

/** The same place as before, until the marker has come under the card or the card has no room there any more. */
export function keepCard(before: Point | null, layout: Layout): Point {
  if (before === null) return placeCard(layout);
  const { room, card, marker } = layout;
  const isCovered = isIn(marker, { ...before, ...card });
  const { x, y } = inside(before, room, card);
  return isCovered || x !== before.x || y !== before.y ? placeCard(layout) : before;
}

/** Of a card without a marker. */
export const cornerOf = (room: Box, width: number): Point => ({
  x: room.x + room.width - width - EDGE,
  y: room.y + EDGE,
});

function inside({ x, y }: Point, room: Box, { width, height }: Layout['card']): Point {
  return {
    x: Math.max(room.x + EDGE, Math.min(x, room.x + room.width - width - EDGE)),
    y: Math.max(room.y + EDGE, Math.min(y, room.y + room.height - height - EDGE)),
  };
}

const isIn = ({ x, y }: Point, box: Box) =>
  x > box.x && x < box.x + box.width && y > box.y && y < box.y + box.height;
