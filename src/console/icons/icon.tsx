// Draws an icon. It has no name of its own: a word stands beside it, or its button has an accessible name.
import { type IconName, icons } from './icons.js';

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={icons[name]} />
    </svg>
  );
}
