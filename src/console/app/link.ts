// The page's side of the worker: sends commands, matches answers to requests, passes events on.
import type { ClientMessage, ServerMessage } from '../../client/radio.js';
import type { Changes, Command, Event, FailedPart, Registration, Rejection } from '../worker/messages.js';

/** A request that failed. `code` is that of RadioError, such as `disconnected` or `rate_limited`. */
export class LinkError extends Error {
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
    this.name = 'LinkError';
  }
}

export type Link = {
  send(command: WithoutId, transfer?: readonly Transferable[]): void;
  /** Sends a message that the relay answers. Rejects with LinkError. */
  request(message: ClientMessage): Promise<ServerMessage>;
  /** Resolves when the relay has announced the emergency. Rejects with LinkError. */
  raise(talkgroupId: string): Promise<void>;
  /** Makes this browser a key holder of the account. Never rejects. */
  register(wanted: { password: string; name: string }): Promise<Registration>;
  /** Accepts another key holder of the account, with the key of this browser. null: it is accepted. Never rejects. */
  accept(wanted: { holderId: string; password: string }): Promise<Rejection | null>;
  /** Calls `listener` at each message that the worker passes on. Returns a function that stops this. */
  onMessage(listener: (message: ServerMessage) => void): () => void;
};

type WithoutId = Exclude<Command, { kind: 'raise' | 'request' | 'register' | 'accept' }>;
type Transferable = Extract<Command, { kind: 'voice' }>['port'];

/** A Worker, or a port in tests. */
type Port = { postMessage(command: Command, transfer: Transferable[]): void };

export type LinkOwner = {
  changed(changes: Changes): void;
  failed(part: FailedPart | null): void;
  replay(event: Extract<Event, { kind: 'replay' }>): void;
};

type Waiting = { resolve(message: ServerMessage): void; reject(error: LinkError): void };

/** `take` is to be called with each event of the worker. */
export function createLink(port: Port, owner: LinkOwner): Link & { take(event: Event): void } {
  const waiting = new Map<number, Waiting>();
  const registering = new Map<number, (registration: Registration) => void>();
  const accepting = new Map<number, (rejection: Rejection | null) => void>();
  const listeners = new Set<(message: ServerMessage) => void>();
  let lastId = 0;
  const ask = (command: (id: number) => Command) =>
    new Promise<ServerMessage>((resolve, reject) => {
      lastId += 1;
      waiting.set(lastId, { resolve, reject });
      port.postMessage(command(lastId), []);
    });

  return {
    send: (command, transfer = []) => port.postMessage(command, [...transfer]),
    request: (message) => ask((id) => ({ kind: 'request', id, message })),
    async raise(talkgroupId) {
      await ask((id) => ({ kind: 'raise', id, talkgroupId }));
    },
    register: (wanted) =>
      new Promise((resolve) => {
        lastId += 1;
        registering.set(lastId, resolve);
        port.postMessage({ kind: 'register', id: lastId, ...wanted }, []);
      }),
    accept: (wanted) =>
      new Promise((resolve) => {
        lastId += 1;
        accepting.set(lastId, resolve);
        port.postMessage({ kind: 'accept', id: lastId, ...wanted }, []);
      }),
    onMessage(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    take(event) {
      switch (event.kind) {
        case 'changes':
          return owner.changed(event);
        case 'failed':
          return owner.failed(event.part);
        case 'replay':
          return owner.replay(event);
        case 'registered':
          registering.get(event.id)?.(event.registration);
          registering.delete(event.id);
          return;
        case 'accepted':
          accepting.get(event.id)?.(event.rejection);
          accepting.delete(event.id);
          return;
        case 'message':
          // A copy, because a listener may unsubscribe itself.
          for (const listener of [...listeners]) listener(event.message);
          return;
        case 'answer':
          settle(event);
      }
    },
  };

  function settle(answer: Extract<Event, { kind: 'answer' }>): void {
    const one = waiting.get(answer.id);
    waiting.delete(answer.id);
    if ('error' in answer) one?.reject(new LinkError(answer.error.code, answer.error.message));
    else one?.resolve(answer.message);
  }
}
