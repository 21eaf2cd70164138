// Keeps a list the same while its items are, so that a view is drawn anew only for a change of its own.
import { useComputed } from '@preact/signals';
import { useRef } from 'preact/hooks';

/** What `read` returns. Another array comes only with another item. */
export function useSameList<Item>(read: () => readonly Item[]): readonly Item[] {
  const before = useRef<readonly Item[]>([]);
  return useComputed(() => {
    const now = read();
    const isSame =
      now.length === before.current.length && now.every((item, at) => item === before.current[at]);
    if (!isSame) before.current = now;
    return before.current;
  }).value;
}
