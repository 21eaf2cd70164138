// Writes the time of day for readers.
import { desk } from './desk.js';

/** As `14:05:32` or `2:05:32 PM`, local. The settings say which one. */
export function timeText(time: Date): string {
  const is24Hour = desk.value?.settings.settings.value.is24Hour ?? true;
  return time.toLocaleTimeString(is24Hour ? 'en-GB' : 'en-US');
}
