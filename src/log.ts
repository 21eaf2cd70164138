// One logger for a thread: JSON lines on standard error, so that standard output stays readable for people.
import { destination, type Logger, pino } from 'pino';

/** Objects first, then a sentence; errors under `err`. Never a token, a key or audio. */
export function createLog(level: string): Logger {
  return pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime },
    destination({ fd: 2, sync: true }),
  );
}
