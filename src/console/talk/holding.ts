// Remembers what is held: each finger, mouse button or Enter key, and what happens when it is let go.

/** By source, such as `pointer 1`: what releasing it does. */
const holds = new Map<string, () => void>();

/** A second press of the same source releases the first one. */
export function hold(source: string, release: () => void): void {
  letGo(source);
  holds.set(source, release);
}

export function letGo(source: string): void {
  const release = holds.get(source);
  holds.delete(source);
  release?.();
}

export function letGoOfAll(): void {
  for (const source of [...holds.keys()]) letGo(source);
}
