// Checks the token of every request to a route that is not public, before the body is read.
import jwt from '@fastify/jwt';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Actor, Noted } from '../db/acts.js';
import type { Database } from '../db/client.js';
import { AppError } from '../errors.js';
import { limitRequests } from '../http/under-way.js';
import { accountStanding } from './store.js';
import { type Claims, createTokenVerifier, signing, type TokenKeys, verification } from './tokens.js';

declare module '@fastify/jwt' {
  interface FastifyJWT {
    payload: Claims;
    /** The caller. Unset on public routes. */
    user: Claims;
  }
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The caller as the audit log names it. Unset on public routes. */
    actor: Actor;
    /** Whether the caller is a dispatcher or an administrator. */
    mayDispatch: boolean;
  }
}

export interface GuardOptions {
  /** Maximum number of unanswered requests of one user. */
  readonly config: { readonly REQUESTS_PER_USER: number };
  readonly tokenKeys: TokenKeys;
  readonly database: Database;
  /** Is told each act of a caller when it is stored. */
  readonly noted: (act: Noted) => void;
}

/** Guards the routes registered on `app` from now on by their `config.access`. Without one it admits admins only. */
export function addGuard(app: FastifyInstance, { config, tokenKeys, database, noted }: GuardOptions): void {
  // Signs, and finds the token in the request. Who may pass is decided by the verifier the relay has, too.
  app.register(jwt, { secret: tokenKeys[0], sign: signing, verify: verification });
  const verifyToken = createTokenVerifier(tokenKeys);
  const limit = limitRequests(config);
  app.decorateRequest('actor', null as never); // set below
  app.decorateRequest('mayDispatch', false);

  app.addHook('onRequest', async (request, reply) => {
    const { access } = request.routeOptions.config;
    if (access === 'public') return;
    const token = tokenOf(app, request);
    const caller = token === null ? null : verifyToken(token);
    if (caller === null) throw new AppError('invalid_token');
    // A revoked token must not use up what its owner may have under way: until the answer it counts for itself.
    const asToken = `${caller.sub} ${caller.iat}`;
    limit(request, reply, asToken);
    const standing = await accountStanding(database, { ...request.deadline, user: asToken }, caller.sub);
    if (standing === null || caller.iat < standing.valid_from) throw new AppError('invalid_token');
    if (!standing.device_active) throw new AppError('device_disabled');
    limit(request, reply, caller.sub);
    request.user = caller;
    request.actor = { id: caller.sub, name: caller.username, way: 'rest', noted };
    request.deadline = { ...request.deadline, user: caller.sub };
    const isAdmin = caller.role === 'admin';
    request.mayDispatch = isAdmin || standing.is_dispatcher;
    if (access === 'user' || isAdmin) return;
    if (access !== 'dispatcher') throw new AppError('admin_only');
    if (!request.mayDispatch) throw new AppError('dispatcher_only');
  });
}

/** What stands behind `Authorization: Bearer`, or null. */
function tokenOf(app: FastifyInstance, request: FastifyRequest): string | null {
  // Node keeps only the first Authorization header. Reject requests that send more than one.
  if ((request.raw.headersDistinct.authorization?.length ?? 0) > 1) return null;
  try {
    return app.jwt.lookupToken(request);
  } catch {
    // Expected: no header, or a broken one.
    return null;
  }
}
