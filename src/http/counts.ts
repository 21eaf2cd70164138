// Counts the answers of the REST API as plain numbers, which a scrape of the metrics reads.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type RefusalCode, refusalCodes } from '../errors.js';
import { type Histogram, newHistogram, observe } from '../histogram.js';

export interface HttpCounts {
  /** Answers with an error, by code, including answers to requests without a route. */
  readonly refused: Record<RefusalCode, number>;
  /** Connections closed without an answer: above REST_CONNECTIONS, the share of an address or the requests sent ahead. */
  connectionsDropped: number;
  /** Connections closed because no byte of an answer could be sent for ANSWER_TIMEOUT_S. */
  answersStalled: number;
  /** By method and route. */
  readonly routes: Map<string, RouteCounts>;
}

export interface RouteCounts {
  readonly method: string;
  /** The declared path, such as `/talkgroups/:id`, never the requested one. */
  readonly route: string;
  /** Answers by status class, `2xx` to `5xx`. */
  readonly answered: Record<string, number>;
  readonly took: Histogram;
}

/** Bounds of the histogram (ms). A read takes a few milliseconds, a login 50 ms, no request more than 5 s. */
const TOOK_MS = [1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000];

/** Creates the counts, all 0. */
export const newHttpCounts = (): HttpCounts => ({
  // Every code from the start, so that a series begins at 0 and not with its first event.
  refused: Object.fromEntries(refusalCodes.map((code) => [code, 0])) as HttpCounts['refused'],
  connectionsDropped: 0,
  answersStalled: 0,
  routes: new Map(),
});

/** Counts an answer when it has been sent. */
export function countAnswer({ routes }: HttpCounts, request: FastifyRequest, reply: FastifyReply): void {
  const counts = routeOf(routes, request);
  const status = `${Math.floor(reply.statusCode / 100)}xx`;
  counts.answered[status] = (counts.answered[status] ?? 0) + 1;
  observe(counts.took, reply.elapsedTime);
}

/** What meets no route is one, whatever its method: clients make no labels. */
function routeOf(routes: HttpCounts['routes'], request: FastifyRequest): RouteCounts {
  const { url } = request.routeOptions;
  const [method, route] = url === undefined ? ['any', 'none'] : [request.method, url];
  const key = `${method} ${route}`;
  let counts = routes.get(key);
  if (counts === undefined) {
    counts = {
      method,
      route,
      answered: { '2xx': 0, '3xx': 0, '4xx': 0, '5xx': 0 },
      took: newHistogram(TOOK_MS),
    };
    routes.set(key, counts);
  }
  return counts;
}
