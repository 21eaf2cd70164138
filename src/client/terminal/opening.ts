// Opens a radio in a terminal, says in lines what becomes of its connection, and finds a talkgroup by name or id.
import { isWhole } from '../connection/parse.js';
import {
  createRadio,
  type Radio,
  RadioError,
  type Reach,
  type Talkgroup,
  UncompressedWebSocket,
} from '../node.js';
import type { HeldKeys } from './keys.js';

/**
 * `url` of the relay, the JWT, a `signal` that ends the command early, and a function that prints a line. `keys`: those of
 * encrypted speech, see openKeys.
 */
export type TerminalOptions = {
  url: string;
  token: string;
  signal?: AbortSignal;
  report?: (line: string) => void;
  keys?: HeldKeys;
};

export function openRadio({ url, token, keys, report = () => {} }: TerminalOptions): Radio {
  /** Why the latest attempt failed, such as an unknown host or CA. */
  let cause = '';
  class ExplainingWebSocket extends UncompressedWebSocket {
    constructor(address: string) {
      super(address);
      cause = '';
      this.on('error', (error: NodeJS.ErrnoException) => {
        cause = (error.message || error.code || '').trim(); // no message when a name has several addresses
      });
    }
  }
  const radio = createRadio({
    ...{ url, token, WebSocket: ExplainingWebSocket, recallSeconds: 0 },
    ...(keys && { keys: keys.store }),
  });
  radio.on('waiting', ({ code, reason, delayMs }) => {
    const why = [code, reason || cause].filter(Boolean).join(' ');
    report(`not connected (${why}), retry in ${seconds(delayMs)}`);
  });
  radio.on('reach', (reach) => report(reachTexts[reach]));
  return radio;
}

const reachTexts: Readonly<Record<Reach, string>> = {
  whole: 'all nodes reached',
  partial: 'a node was lost within the last minute, or is not reached: its members may not hear this radio',
  alone: 'no other node is reached: only members on this node hear this radio',
};

/** Resolves when the relay has sent all talkgroups, or when aborted. Rejects when the relay closes the session for good. */
export function until(
  radio: Radio,
  { event, signal }: { event?: 'complete'; signal: AbortSignal | undefined },
): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) resolve();
    signal?.addEventListener('abort', () => resolve(), { once: true });
    if (event) onComplete(radio, resolve);
    radio.on('stopped', ({ code, reason }) =>
      reject(new RadioError('stopped', `the relay closed the connection: ${reason || code}`)),
    );
  });
}

/** Very many talkgroups arrive in several messages (docs/protocol.md, section 3, Snapshots in parts). */
function onComplete(radio: Radio, complete: () => void): void {
  radio.on('open', (welcome) => isWhole(welcome) && complete());
  radio.on('message', (message) => message.type === 'SUBSCRIBED' && !message.more && complete());
}

export function findTalkgroup(radio: Radio, nameOrId: string): Talkgroup {
  const named = [...radio.talkgroups.values()].filter((talkgroup) => isNamed(talkgroup, nameOrId));
  const [found] = named;
  if (!found) throw new RadioError('not_member', `not a member of talkgroup ${nameOrId}`);
  // Names are not unique.
  if (named.length > 1) throw new Error(`several talkgroups are named ${nameOrId}: use the id`);
  return found;
}

export const isNamed = (talkgroup: Talkgroup | undefined, nameOrId: string): boolean =>
  talkgroup?.talkgroup_id === nameOrId.toLowerCase() || talkgroup?.name === nameOrId;

export const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
