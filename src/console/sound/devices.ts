// Lists devices for a view, anew when one comes or goes.
import { type ReadonlySignal, useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

/** A label is empty before the microphone was allowed. */
export type Device = { id: string; label: string };

/** `list` must be the same function at each rendering. `isOpen`: of the microphone. Read anew with it, because of the labels. */
export function useDevices(
  list: () => Promise<readonly Device[]>,
  isOpen = false,
): ReadonlySignal<readonly Device[]> {
  const devices = useSignal<readonly Device[]>([]);
  useEffect(() => {
    const read = () =>
      void list().then(
        (found) => {
          devices.value = found;
        },
        () => {}, // NotAllowedError: the browser lists none without a permission
      );
    read();
    navigator.mediaDevices?.addEventListener('devicechange', read);
    return () => navigator.mediaDevices?.removeEventListener('devicechange', read);
  }, [list, isOpen, devices]);
  return devices;
}
