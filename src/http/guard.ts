// Who may pass: each route says whom it admits, and one hook checks it before a byte of the body is read.
import jwt from '@fastify/jwt';
import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify';
import { accountStanding } from '../auth/store.js';
import { type Claims, readClaims, signing, verification } from '../auth/tokens.js';
import type { Database } from '../db/client.js';
import { AppError } from '../errors.js';

/** `user` is anybody with a valid token, `admin` one whose token says so. */
export type Access = 'public' | 'user' | 'admin';

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: Access;
  }
}

declare module '@fastify/jwt' {
  interface FastifyJWT {
    payload: Claims;
    /** The caller; there is none on public routes. */
    user: Claims;
  }
}

export interface GuardedRoute {
  readonly method: string;
  readonly url: string;
  readonly access: Access;
}

/**
 * Guards every route registered on `app` from now on. Returns their list, which grows as they are registered. A
 * route that does not declare its access keeps the server from starting.
 */
export function addGuard(
  app: FastifyInstance,
  { secret, database }: { secret: string; database: Database },
): readonly GuardedRoute[] {
  app.register(jwt, { secret, sign: signing, verify: verification, formatUser: readCaller });

  app.addHook('onRequest', async (request) => {
    const { access } = request.routeOptions.config;
    if (access === 'public') return;
    const caller = await callerOf(request);
    const standing = await accountStanding(database, request.deadline, caller.sub);
    if (standing === null || caller.iat < standing.valid_from) throw new AppError('invalid_token');
    if (!standing.device_active) throw new AppError('device_disabled');
    if (access !== 'user' && caller.role !== 'admin') throw new AppError('admin_only');
  });

  return listRoutes(app);
}

async function callerOf(request: FastifyRequest): Promise<Claims> {
  try {
    return await request.jwtVerify<Claims>();
  } catch {
    // Expected: no header, a broken one, and every token that is forged, foreign or malformed.
    throw new AppError('invalid_token');
  }
}

function readCaller(payload: unknown): Claims {
  const claims = readClaims(payload);
  if (claims === null) throw new AppError('invalid_token');
  return claims;
}

function listRoutes(app: FastifyInstance): readonly GuardedRoute[] {
  const routes: GuardedRoute[] = [];
  const found: { names: { method: string; url: string }[]; route: RouteOptions }[] = [];
  app.addHook('onRoute', (route) => {
    const { method, url } = route;
    if (url !== PREFLIGHT_URL)
      found.push({ names: [method].flat().map((one) => ({ method: one, url })), route });
  });
  // Not in `onRoute`: a plugin's own such hook runs after this one and may still set the access (docs.ts).
  app.addHook('onReady', async () => {
    for (const { names, route } of found) {
      const access = route.config?.access;
      for (const { method, url } of names) {
        if (access === undefined) throw new Error(`${method} ${url} does not declare its access`);
        routes.push({ method, url, access });
      }
    }
  });
  return routes;
}

/** The one route @fastify/cors registers, for OPTIONS alone; a preflight is answered before it is reached. */
export const PREFLIGHT_URL = '*';
