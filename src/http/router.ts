// Lists the routes with their access, and rejects a request for an unknown path or a wrong method.
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import { AppError, type RefusalCode } from '../errors.js';
import type { BadRequest } from './advice.js';
import type { Unread } from './under-way.js';

/**
 * `user`: a caller with a valid token. `dispatcher`: one that the database has as a dispatcher, and administrators. `admin`:
 * a caller with the role admin in the token.
 */
export type Access = 'public' | 'user' | 'dispatcher' | 'admin';

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: Access;
    /** Errors of this route in the reference, beyond those that openapi.ts adds for its access and method. */
    refusals?: readonly RefusalCode[];
    /** Causes of a 400 of this route in the reference, beyond those that bad-requests.ts finds. */
    badRequests?: readonly BadRequest[];
    /** Counts its answers that wait to be read, instead of the budget of all others. */
    unread?: Unread;
  }
}

export interface RegisteredRoute {
  readonly method: string;
  readonly url: string;
  readonly access: Access;
}

/** The route that @fastify/cors registers for OPTIONS. The plugin answers a preflight before this route. */
const PREFLIGHT_URL = '*';

/**
 * Lists the routes registered on `app` from now on. The list is complete when the server is ready. The server does not
 * start with a route that declares no access.
 */
export function listRoutes(app: FastifyInstance): readonly RegisteredRoute[] {
  const routes: RegisteredRoute[] = [];
  const found: { methods: string[]; url: string; route: RouteOptions }[] = [];
  app.addHook('onRoute', (route) => {
    const { method, url } = route;
    if (url !== PREFLIGHT_URL) found.push({ methods: [method].flat(), url, route });
  });
  // Not in `onRoute`: a plugin's own such hook runs after this one and may still set the access (docs.ts).
  app.addHook('onReady', async () => {
    for (const { methods, url, route } of found) {
      const access = route.config?.access;
      if (access === undefined) throw new Error(`${methods.join()} ${url} does not declare its access`);
      for (const method of methods) routes.push({ method, url, access });
    }
  });
  return routes;
}

/** Answers 404 to an unknown path and 405 to a wrong method, for every caller and body. */
export function refuseUnknown(app: FastifyInstance, routes: readonly RegisteredRoute[]): void {
  function methodsOf(url: string): string[] {
    const ofThatPath = routes.filter((route) => route.url === pathOf(url));
    if (ofThatPath.length > 0) return ofThatPath.map(({ method }) => method);
    const methods = new Set(routes.map(({ method }) => method));
    return [...methods].filter((method) => isComplete(app.findRoute({ method, url })?.params));
  }

  /** `DELETE /talkgroups/directory` would otherwise be the deletion of a talkgroup with that id. */
  function isAnotherPath({ raw: { url = '/' }, routeOptions, params }: FastifyRequest): boolean {
    const hasId = Object.keys(params as object).length > 0;
    return hasId && routes.some((route) => route.url === pathOf(url) && route.url !== routeOptions.url);
  }

  const refuse = async (request: FastifyRequest, reply: FastifyReply) => {
    const allowed = methodsOf(request.raw.url ?? '/');
    // A route may match and find nothing: a file under /docs/static.
    if (allowed.length === 0 || allowed.includes(request.method)) throw new AppError('unknown_path');
    reply.header('allow', allowed.sort().join(', '));
    throw new AppError('method_not_allowed');
  };
  // In a hook, before the body of such a request is parsed. Plugins that look for files use the handler.
  app.addHook('onRequest', async (request, reply) => {
    const { is404, routeOptions, params } = request;
    const isUnknown = is404 || routeOptions.url === PREFLIGHT_URL;
    if (isUnknown || !isComplete(params) || isAnotherPath(request)) await refuse(request, reply);
  });
  app.setNotFoundHandler(refuse);
}

const pathOf = (url: string) => url.split('?', 1)[0];

/** The router also matches `/talkgroups//join`, but an empty id makes it another path. */
const isComplete = (params: unknown) =>
  typeof params === 'object' && params !== null && !Object.values(params).includes('');
