// Assembles the REST API: the steps of a request, in order, from its first byte to its answer.
import { ReadStream } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Server as TlsServer } from 'node:tls';
import cors from '@fastify/cors';
import helmet from '@fastify/helmet';
import sensible from '@fastify/sensible';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  fastify,
  LogController,
} from 'fastify';
import { type Deadline, deadlineIn, REQUEST_MS } from '../db/deadline.js';
import { portError } from '../errors.js';
import { addressKey } from './address.js';
import { addBodyParsers, describeFirst, serializerCompiler, validatorCompiler } from './body.js';
import { countAnswer, type HttpCounts, newHttpCounts } from './counts.js';
import { addDocs } from './docs.js';
import { failureAnswerer } from './failures.js';
import { fileClosed } from './files.js';
import { healthRoutes } from './health.js';
import { type CertifiedKey, createListener, type Overflow, openedEvent } from './listener.js';
import { listRoutes, type RegisteredRoute, refuseUnknown } from './router.js';
import type { HttpSettings } from './settings.js';
import { limitAnswers, type Unread } from './under-way.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Time limit of this request. It does not run while the body arrives. */
    deadline: Deadline;
    /** Time left (ms) when the service began to wait for the body. */
    leftMs: number;
  }
  interface FastifyInstance {
    readonly unread: Unread;
  }
}

export interface HttpServerOptions {
  readonly config: HttpSettings;
  /** Presented to clients until `present` replaces it. Null: plain text. */
  readonly certificate: CertifiedKey | null;
  /** Adds the check of the caller to the routes that are registered after it. */
  readonly guard: (app: FastifyInstance) => void;
  /** The reason that /readyz gives. null: the service can serve. */
  readonly ready: () => string | null;
  readonly log: FastifyBaseLogger;
  /** Routes that can reject a request before it is read. */
  readonly overflow?: Overflow;
  /** The routes of the features. Each declares `config.access`. */
  readonly routes: readonly FastifyPluginAsyncTypebox[];
}

export interface HttpServer {
  /** Resolves with the port when it accepts connections. Rejects when the port is in use or a route has no access. */
  listen(): Promise<{ port: number }>;
  /** Presents this certificate to new connections. Open connections keep theirs. Only for a server with TLS. */
  present(certificate: CertifiedKey): void;
  /** Adds `Connection: close` to every answer from now on. The server still accepts requests. */
  drain(): void;
  /**
   * Stops accepting. Resolves when every accepted request is answered. Closes the connection of an incomplete request
   * after `unfinishedMsMax`, and every other connection after `answersMsMax`.
   */
  close(): Promise<void>;
  readonly counts: HttpCounts;
  /** Every route with its access. Complete after `listen`. */
  readonly routes: readonly RegisteredRoute[];
}

/** Time limit for answers to complete requests (ms). A login in the hash queue takes longest. */
const CLOSE_MS_MAX = 5000;

/**
 * From the drain's start (ms). `docker stop` kills after 10 s: the database, closed after this, takes at most 1 s and
 * PostgreSQL's shutdown some tenths of a second.
 */
const DRAINED_MS_MAX = 8500;

/**
 * Time (ms) for incomplete requests after `close`, when the drain began `drainedMs` earlier: 5 s, less when that exceeds
 * DRAINED_MS_MAX, at least 2 s.
 */
export const unfinishedMsMax = (drainedMs: number): number =>
  Math.min(CLOSE_MS_MAX, Math.max(2000, DRAINED_MS_MAX - drainedMs));

/**
 * The same for answers to complete requests, but at least 3 s, because a statement has 2.5 s. When a talker uses all of
 * the default DRAIN_MS and passwords wait to be hashed, the last of these logins get no answer.
 */
export const answersMsMax = (drainedMs: number): number =>
  Math.min(CLOSE_MS_MAX, Math.max(3000, DRAINED_MS_MAX - drainedMs));

/**
 * Connections that the kernel keeps until the service accepts them, at most net.core.somaxconn. With Node's 511, some of
 * 1,000 simultaneous connections are lost, and their clients try again only after a second.
 */
const BACKLOG = 4096;

/** Creates the server with its routes. It listens after `listen`. */
export function createHttpServer(options: HttpServerOptions): HttpServer {
  const { config, certificate, guard, ready, log, routes, overflow = new Map() } = options;
  const counts = newHttpCounts();
  /** Monotonic (ms). null: not draining. */
  let drainedAt: number | null = null;

  const answerFailure = failureAnswerer(counts);

  // Bytes. The listener answers what is no request, and requests above a limit. fastify gets the rest.
  const listener = createListener({ config, certificate, counts, overflow, commonHeaders });
  const app = fastify({
    serverFactory: listener.serve,
    clientErrorHandler: listener.answerClientError,
    frameworkErrors: answerFailure,
    trustProxy: config.TRUST_PROXY.length > 0 && [...config.TRUST_PROXY],
    bodyLimit: config.BODY_BYTES,
    routerOptions: { maxParamLength: config.URL_BYTES }, // an id of 200 characters is unknown, not too long
    return503OnClosing: false, // what was accepted is answered
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true }), // its lines hold URLs, and those may hold tokens
  });
  app.setErrorHandler(answerFailure);

  // Headers every answer carries.
  app.register(sensible);
  app.register(helmet, { contentSecurityPolicy: NOTHING_TO_LOAD, hsts: certificate !== null });
  if (config.CORS_ORIGINS !== null) allowOrigins(app, config.CORS_ORIGINS);
  const unread = limitAnswers();
  app.decorate('unread', unread);
  app.addHook('onSend', async (request, reply, payload) => {
    if (drainedAt !== null) reply.header('connection', 'close');
    if (!(payload instanceof ReadStream)) fileClosed(request); // also the 404 of a file that is not there
    const isText = typeof payload === 'string';
    if (!isText && !Buffer.isBuffer(payload)) return; // nothing, or a file, for which files.ts does this
    const bytes = isText ? Buffer.byteLength(payload) : payload.length;
    const counted = request.routeOptions.config.unread ?? unread;
    counted.admit(request, bytes);
    counted.count(request, reply, bytes);
  });

  // Clock, path and method, caller, body: 404 and 405 for all, then 401, 403, 400.
  const registered = listRoutes(app);
  startClock(app);
  refuseUnknown(app, registered);
  const connections = watchConnections(app, openedEvent(certificate));
  guard(app);
  addBodyParsers(app);
  app.setValidatorCompiler(validatorCompiler).setSerializerCompiler(serializerCompiler);
  app.setSchemaErrorFormatter(describeFirst);

  // Handler and answer.
  addDocs(app);
  app.register(healthRoutes({ ready }));
  for (const feature of routes) app.register(feature);
  app.addHook('onResponse', async (request, reply) => {
    countAnswer(counts, request, reply);
    logAnswer(request, reply);
  });

  /** What users of an answer rely on. The headers that tell a browser how to show a page say nothing of a refusal. */
  function commonHeaders({ headers: { origin } }: IncomingMessage): Record<string, string> {
    const isAllowed = origin !== undefined && config.CORS_ORIGINS?.includes(origin);
    return {
      ...NOT_STORED,
      ...(drainedAt !== null && { connection: 'close' }),
      ...(config.CORS_ORIGINS !== null && { vary: 'Origin' }),
      ...(isAllowed && {
        'access-control-allow-origin': origin,
        'access-control-expose-headers': EXPOSED.join(),
      }),
    };
  }

  return {
    counts,
    routes: registered,
    async listen() {
      const { HOST: host, PORT: port } = config;
      // The line of the log. fastify does not know that `serve` made a server with TLS.
      const listenTextResolver = (address: string) =>
        `Server listening at ${certificate === null ? address : address.replace('http:', 'https:')}`;
      await app.listen({ host, port, backlog: BACKLOG, listenTextResolver }).catch((error) => {
        throw portError(error, { name: 'PORT', host, port }) ?? error;
      });
      return { port: (app.server.address() as AddressInfo).port }; // a string only for pipes
    },
    present({ cert, key }) {
      (app.server as unknown as TlsServer).setSecureContext({ cert, key }); // listener.ts made it
    },
    drain() {
      drainedAt ??= performance.now();
    },
    async close() {
      const now = performance.now();
      drainedAt ??= now;
      const unfinished = setTimeout(connections.cutUnfinished, unfinishedMsMax(now - drainedAt));
      const overdue = setTimeout(() => app.server.closeAllConnections(), answersMsMax(now - drainedAt));
      await app.close();
      clearTimeout(unfinished);
      clearTimeout(overdue);
    },
  };
}

/** Knows which connections have a request that arrived whole and is being answered: Node does not tell. */
function watchConnections(app: FastifyInstance, opened: 'connection' | 'secureConnection') {
  const all = new Map<Socket, Set<IncomingMessage>>();
  app.server.on(opened, (socket: Socket) => {
    all.set(socket, new Set());
    socket.once('close', () => all.delete(socket));
  });
  // Before the guard, which may wait for the database.
  app.addHook('onRequest', async ({ raw }) => {
    all.get(raw.socket)?.add(raw);
  });
  app.addHook('onResponse', async ({ raw }) => {
    all.get(raw.socket)?.delete(raw);
  });
  return {
    cutUnfinished(): void {
      for (const [socket, requests] of all) {
        const isAnswering = [...requests].some(({ complete }) => complete);
        if (!isAnswering) socket.destroy();
      }
    },
  };
}

/** Answers are JSON. The pages under /docs have a policy of their own. */
const NOTHING_TO_LOAD = {
  useDefaults: false,
  directives: { 'default-src': ["'none'"], 'frame-ancestors': ["'none'"] },
};

/** Headers a web page may read. */
const EXPOSED = ['Error-Code', 'Retry-After'];

/** Tokens and positions. */
const NOT_STORED = { 'cache-control': 'no-store' };

function allowOrigins(app: FastifyInstance, origins: readonly string[]): void {
  const origin = [...origins];
  app.register(cors, {
    // Only a real preflight is answered by the plugin. Any other OPTIONS is a wrong method like the rest.
    delegator: async (request: FastifyRequest) => ({
      origin,
      preflight: request.headers.origin !== undefined && 'access-control-request-method' in request.headers,
      methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
      exposedHeaders: EXPOSED,
      maxAge: 600, // seconds. Browsers cap it at 600 to 7200
    }),
  });
}

function startClock(app: FastifyInstance): void {
  app.decorateRequest('deadline', null as never); // set by the very first hook
  app.decorateRequest('leftMs', 0);
  app.addHook('onRequest', async (request, reply) => {
    request.deadline = deadlineIn(REQUEST_MS, { address: addressKey(request.ip) });
    reply.cacheControl('no-store'); // tokens and positions, as in NOT_STORED
  });
  // A slow uplink must not eat the time the database needs: the clock stands still while the body arrives.
  app.addHook('preParsing', async (request) => {
    request.leftMs = request.deadline.at - performance.now();
  });
  app.addHook('preValidation', async (request) => {
    request.deadline = deadlineIn(request.leftMs, request.deadline);
  });
}

function logAnswer(request: FastifyRequest, reply: FastifyReply): void {
  const { method, routeOptions } = request;
  const tookMs = Math.round(reply.elapsedTime);
  request.log.debug(
    { method, route: routeOptions.url, status: reply.statusCode, tookMs },
    'request answered',
  );
}
