// Draws the icons of the recordings. They are here, because a login loads those of the whole console.
const shapes = {
  play: 'M7 4l13 8-13 8z',
  pause: 'M8 4v16M16 4v16',
  stop: 'M6 6h12v12H6z',
  download: 'M12 4v11M7 10l5 5 5-5M5 20h14',
} as const;

export type ShapeName = keyof typeof shapes;

export function Shape({ name }: { name: ShapeName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={shapes[name]} />
    </svg>
  );
}
