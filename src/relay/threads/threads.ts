// All relay threads of the process behind the face of one relay. They share the port, and each has sessions of its own.
import { randomInt } from 'node:crypto';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import type { Database } from '../../db/client.js';
import { listenForNotices, type NoticeListener } from '../../db/notices.js';
import { ConfigError } from '../../errors.js';
import type { ThreadPlace } from '../compose.js';
import type { RelayFigures, RelaySide } from '../relay-side.js';
import type { Renewal } from '../websocket/renewals.js';
import { type RelayThread, startRelayThread, type Taped } from './host.js';
import type { ThreadData } from './messages.js';
import { guardPort, type PortGuard } from './port-guard.js';

export interface ThreadsOptions extends Omit<ThreadData, 'place'> {
  /** Of the main thread, which listens for change notifications when there are several threads. */
  readonly database: Database;
  readonly log: { warn(fields: object, message: string): void };
  readonly taped: Taped;
  /** Called when a thread failed or ended by itself. Another call may follow while the process ends. */
  readonly onDeath: (error: Error) => void;
}

/**
 * Starts RELAY_THREADS threads, at least one. With one nothing is shared. Throws ConfigError where several cannot share a
 * port.
 */
export function startRelayThreads(options: ThreadsOptions): RelaySide {
  const { config, handshakes, url, tokenKeys, taped, onDeath } = options;
  // The keys of the secrets stay on the main thread.
  const data = { config: { ...config, SECRETS_KEY: [] }, handshakes, url, tokenKeys };
  if (config.RELAY_THREADS > 1) return startSharing(data, options);
  const thread = startRelayThread({ data: { ...data, place: null }, name: 'relay', taped, onDeath });
  return { ...thread, figures: async () => asList(await thread.figures()) };
}

const asList = (figures: RelayFigures | null) => figures && [figures];

/** Throws ConfigError: only Linux deals the connections to one port out to several threads. */
export function checkSharing(platform: NodeJS.Platform): void {
  if (platform !== 'linux')
    throw new ConfigError(
      `RELAY_THREADS must be 0 or 1 on ${platform}: more threads share a port on Linux only`,
    );
}

function startSharing(
  data: Omit<ThreadData, 'place'>,
  { database, taped, log, onDeath }: ThreadsOptions,
): RelaySide {
  checkSharing(process.platform);
  const { config, url } = data;
  const threads = placesOf(config.RELAY_THREADS).map((place) =>
    startRelayThread({
      data: { ...data, place },
      name: place.name,
      taped,
      onDeath,
    }),
  );
  let guard: PortGuard | null = null;
  let notices: NoticeListener | null = null;
  let isClosing = false;

  return {
    async listen() {
      const { HOST: host, WS_PORT: given } = config;
      if (given !== 0) guard = await guardPort(host, given);
      const [first, ...others] = threads;
      const port = (await first?.listen({ kind: 'first' })) ?? given;
      guard ??= await guardPort(host, port);
      await Promise.all(others.map((other) => other.listen({ kind: 'next', port })));
      return port;
    },
    async start() {
      await all(threads, (thread) => thread.start());
      if (isClosing) return;
      notices = listenForNotices({
        url,
        database,
        onNotice(notice) {
          for (const thread of threads) thread.noticed(notice);
        },
        onGap() {
          for (const thread of threads) thread.gap();
        },
        log,
      });
    },
    async notice(notice) {
      await all(threads, (thread) => thread.notice(notice));
    },
    located(fixes) {
      for (const thread of threads) thread.located(fixes);
    },
    trouble: () => threads.map((thread) => thread.trouble()).find((trouble) => trouble !== null) ?? null,
    async figures() {
      const figures = await all(threads, (thread) => thread.figures());
      return figures.every((one) => one !== null) ? figures : null;
    },
    present: async (certificate) => worstOf(await all(threads, (thread) => thread.present(certificate))),
    async close() {
      isClosing = true;
      await all(threads, (thread) => thread.close());
      await notices?.close();
      guard?.close();
    },
  };
}

const all = <T>(threads: readonly RelayThread[], act: (thread: RelayThread) => Promise<T>): Promise<T[]> =>
  Promise.all(threads.map(act));

/** The places of the threads, each with a port to every other one. */
function placesOf(threads: number): ThreadPlace[] {
  const ports = Array.from({ length: threads }, (): MessagePort[] => []);
  const node = randomInt(2 ** 32);
  const openOfAll = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const relays = new Uint32Array(new SharedArrayBuffer(threads * Uint32Array.BYTES_PER_ELEMENT));
  for (const [index, own] of ports.entries())
    for (const others of ports.slice(index + 1)) {
      const { port1, port2 } = new MessageChannel();
      own.push(port1);
      others.push(port2);
    }
  return ports.map((own, index) => ({
    ...{ index, name: `relay-${index + 1}` },
    ...{ node, threads, ports: own, relays, openOfAll },
  }));
}

/** From worst to best. */
const RENEWALS: readonly Renewal[] = ['rejected', 'no name left', 'changed', 'presented'];

/** What all threads together have come to. */
const worstOf = (renewals: readonly Renewal[]): Renewal =>
  RENEWALS.find((renewal) => renewals.includes(renewal)) ?? 'presented';
