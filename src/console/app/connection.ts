// Says in words how the radio is connected.
import type { ConnectionView } from '../worker/messages.js';
import { texts } from './texts.js';

const { connection: words } = texts;

/** `isTrouble`: it is shown in amber. */
export type ConnectionText = { text: string; isTrouble: boolean };

/** `isAgain`: it is back since a few seconds. */
export function connectionText(view: ConnectionView, nowMs: number, isAgain = false): ConnectionText {
  switch (view.state) {
    case 'connecting':
      if (view.close === null) return { text: words.connecting, isTrouble: false };
      return { text: words.retrying(whyOf(view)), isTrouble: true };
    case 'waiting':
      return { text: waitingText(view, nowMs), isTrouble: true };
    case 'stopped':
      return { text: words.stopped, isTrouble: true };
    case 'open':
      if (view.isDraining) return { text: words.draining, isTrouble: true };
      if (view.reach === 'partial') return { text: words.partial, isTrouble: true };
      if (view.reach === 'alone') return { text: words.alone, isTrouble: true };
      return { text: isAgain ? words.again : words.open, isTrouble: false };
  }
}

function waitingText(view: ConnectionView, nowMs: number): string {
  const seconds = Math.ceil(((view.retryAtMs ?? nowMs) - nowMs) / 1000);
  return seconds > 0 ? words.waiting(whyOf(view), seconds) : words.retrying(whyOf(view));
}

function whyOf({ close }: ConnectionView): string {
  const why: Readonly<Record<string, string>> = words.why;
  return why[close?.reason ?? ''] ?? words.why.network;
}
