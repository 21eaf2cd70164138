// Who may pass: one hook for every route that is not public, before a byte of the body is read.
import jwt from '@fastify/jwt';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { accountStanding } from '../auth/store.js';
import { type Claims, readClaims, signing, verification } from '../auth/tokens.js';
import type { Database } from '../db/client.js';
import { AppError } from '../errors.js';

declare module '@fastify/jwt' {
  interface FastifyJWT {
    payload: Claims;
    /** The caller; there is none on public routes. */
    user: Claims;
  }
}

/** Guards the routes registered on `app` from now on by their `config.access`; without one only admins pass. */
export function addGuard(
  app: FastifyInstance,
  { secret, database }: { secret: string; database: Database },
): void {
  app.register(jwt, { secret, sign: signing, verify: verification });

  app.addHook('onRequest', async (request) => {
    const { access } = request.routeOptions.config;
    if (access === 'public') return;
    const caller = await readCaller(request);
    const standing = await accountStanding(database, request.deadline, caller.sub);
    if (standing === null || caller.iat < standing.valid_from) throw new AppError('invalid_token');
    if (!standing.device_active) throw new AppError('device_disabled');
    if (access !== 'user' && caller.role !== 'admin') throw new AppError('admin_only');
  });
}

/** Also sets `request.user`. Throws `invalid_token`. */
async function readCaller(request: FastifyRequest): Promise<Claims> {
  const claims = readClaims(await verifiedPayload(request));
  if (claims === null) throw new AppError('invalid_token');
  request.user = claims;
  return claims;
}

async function verifiedPayload(request: FastifyRequest): Promise<object | null> {
  // Node keeps the first of several; whoever sends two means neither.
  if ((request.raw.headersDistinct.authorization?.length ?? 0) > 1) return null;
  try {
    return await request.jwtVerify<object>();
  } catch {
    // Expected: no header, a broken one, and every token that is forged or foreign.
    return null;
  }
}
