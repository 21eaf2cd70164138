// Serves key holders by REST: register, list, accept and delete.
import { randomUUID } from 'node:crypto';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { createBuckets } from '../buckets.js';
import type { Database } from '../db/client.js';
import type { Deadline } from '../db/deadline.js';
import { noticeOf, type Tell } from '../db/notice.js';
import { AppError } from '../errors.js';
import { addressKey } from '../http/address.js';
import { confirm, confirmAll } from '../http/confirm.js';
import { firstOrNext, pageOf } from '../http/paging.js';
import { readHolderId, readUserId } from '../http/paths.js';
import { answers, Ok, ok } from '../http/schemas.js';
import type { UserId } from '../ids.js';
import { ACCEPTANCE_INFO, acceptanceAad, fingerprint, toBase64url } from '../protocol/encryption.js';
import { nodePrimitives } from '../protocol/node-primitives.js';
import type { Proofs } from './proof.js';
import {
  Acceptance,
  Challenge,
  ChallengeQuery,
  CreatedHolder,
  HolderInPath,
  HolderList,
  HolderQuery,
  NewHolder,
  readPublicKey,
} from './schemas.js';
import * as store from './store.js';

interface Seals {
  readonly publicKey: Uint8Array;
  readonly info: Uint8Array;
  readonly items: readonly { readonly secret: Uint8Array; readonly aad: Uint8Array }[];
}

export interface HolderOptions {
  readonly database: Database;
  readonly tell: Tell;
  /** The queue of seals for key holders, with its limits. */
  readonly sealing: {
    admit(user: string): void;
    seal(deadline: Deadline, job: Seals): Promise<readonly { enc: Uint8Array; sealed: Uint8Array }[]>;
  };
  readonly proofs: Proofs;
  /** Resolves with the deadline of the write that follows. Throws `invalid_credentials` (auth/own-password.ts). */
  readonly proveOwner: (proof: {
    readonly user: UserId;
    readonly address: string;
    readonly password: string;
    readonly deadline: Deadline;
  }) => Promise<Deadline>;
}

/**
 * New key holders of a user: 10 a day.
 * LIMIT: each node counts for itself, and anew after a start. A count in the database would lift that.
 */
const NEW_HOLDERS = { atOnce: 10, perMinute: 10 / (24 * 60) };

/** The routes under /keys/holders. */
export const holderRoutes =
  ({ database, tell, sealing, proofs, proveOwner }: HolderOptions): FastifyPluginAsyncTypebox =>
  async (app) => {
    const tags = ['keys'];
    const registrations = createBuckets(NEW_HOLDERS);

    const passwordRefusals = [
      'invalid_credentials',
      'too_many_wrong_passwords',
      'login_queue_full',
      'outcome_unknown',
      'relay_unconfirmed',
    ] as const;

    const register = {
      config: {
        access: 'user',
        refusals: [...passwordRefusals, 'holders_full', 'too_many_holders'],
        badRequests: ['unstorable_text'],
      },
      schema: {
        operationId: 'registerHolder',
        summary: 'Register a key holder',
        description:
          'A key holder is an installation of an app. It has the private key, and sends the public key here. The first one of an account, and the first one after an administrator revoked the user, is accepted at once. A later one waits until it is accepted. An account has at most 8. The ninth replaces the one that waits longest. When all 8 are accepted, one must be deleted first. Registering the same public key again returns the same key holder.',
        tags,
        body: NewHolder,
        response: answers(CreatedHolder),
      },
    } as const;

    app.post('/keys/holders', register, async ({ user: { sub: user }, ip, body, deadline }) => {
      const { password, name } = body;
      const publicKey = readPublicKey(body.public_key);
      if (publicKey === null) throw new AppError('bad_request');
      const write = await proveOwner({ user, address: addressKey(ip), password, deadline });
      const waitMs = registrations.waitMs(user, performance.now());
      if (waitMs > 0) throw new AppError('too_many_holders', undefined, Math.ceil(waitMs / 1000));
      registrations.take(user, performance.now());
      const notice = noticeOf({ kind: 'holders_changed', user });
      const added = await store.addHolder(database, write, { user, publicKey, name, notice });
      if (added === null) throw new AppError('invalid_credentials');
      if (added === 'full') throw new AppError('holders_full');
      if (added === 'device_disabled') throw new AppError(added);
      await confirm(tell, notice, write);
      return {
        holder_id: added.id,
        fingerprint: fingerprint(nodePrimitives, { userId: user, publicKey }),
        accepted: added.accepted,
      };
    });

    const list = {
      config: { access: 'user', refusals: ['admin_only', 'user_not_found'] },
      schema: {
        operationId: 'listHolders',
        summary: 'List key holders',
        description:
          'Those of the caller. An administrator may list those of any user. The answer is always one page in the order of ids.',
        tags,
        querystring: HolderQuery,
        response: answers(HolderList),
      },
    } as const;

    app.get('/keys/holders', list, async ({ user: caller, query, deadline }) => {
      const user = query.user_id === undefined ? caller.sub : readUserId(query.user_id);
      if (user !== caller.sub && caller.role !== 'admin') throw new AppError('admin_only');
      const page = firstOrNext(query);
      const found = await store.holdersOf(database, deadline, { user, page });
      if (found === null) throw new AppError('user_not_found');
      const rows = found.map(({ id, public_key: publicKey, created_at, ...row }) => ({
        ...row,
        holder_id: id,
        public_key: publicKey.toString('base64url'),
        fingerprint: fingerprint(nodePrimitives, { userId: row.user_id, publicKey }),
        created_at,
      }));
      return pageOf(page, 'holders', { rows, idOf: ({ holder_id }) => holder_id });
    });

    const challenge = {
      config: {
        access: 'user',
        refusals: ['holder_not_found', 'too_many_keys', 'sealing_unavailable'],
      },
      schema: {
        operationId: 'challengeHolder',
        summary: 'Challenge an accepted key holder',
        description:
          'Seals a proof for an accepted key holder of the caller. It opens the proof with its private key, and sends it to accept the key holder in the path.',
        tags,
        params: HolderInPath,
        querystring: ChallengeQuery,
        response: answers(Challenge),
      },
    } as const;

    app.get(
      '/keys/holders/:id/challenge',
      challenge,
      async ({ user: { sub: owner }, params, query, deadline }) => {
        const pair = { by: readHolderId(query.holder_id), holder: readHolderId(params.id) };
        sealing.admit(owner);
        const publicKey = await store.acceptingKey(database, deadline, { owner, ...pair });
        if (publicKey === null) throw new AppError('holder_not_found');
        const items = [{ secret: proofs.of(pair), aad: acceptanceAad(pair) }];
        const [envelope] = await sealing.seal(deadline, { publicKey, info: ACCEPTANCE_INFO, items });
        if (envelope === undefined) throw new AppError('sealing_unavailable');
        return { enc: toBase64url(envelope.enc), sealed: toBase64url(envelope.sealed) };
      },
    );

    const accept = {
      config: { access: 'user', refusals: ['holder_not_found', 'wrong_proof', ...passwordRefusals] },
      schema: {
        operationId: 'acceptHolder',
        summary: 'Accept a key holder',
        description:
          'From now on it gets the present key and later ones. The owner names an accepted key holder of the account, the proof that it opened of the challenge, and the password. An administrator sends an empty object. Compare the fingerprints first. Accepting again changes nothing.',
        tags,
        params: HolderInPath,
        body: Acceptance,
        response: answers(Ok),
      },
    } as const;

    app.post('/keys/holders/:id/accept', accept, async ({ user, actor, ip, params, body, deadline }) => {
      const id = readHolderId(params.id);
      const noticeId = randomUUID();
      if (user.role === 'admin') {
        const notice = await store.acceptHolder(database, deadline, { id, noticeId, by: { admin: actor } });
        if (notice === null) throw new AppError('holder_not_found');
        await confirm(tell, notice, deadline);
        return ok;
      }
      const { holder_id, password, proof } = body;
      if (password === undefined) throw new AppError('invalid_credentials');
      const holder = readHolderId(holder_id ?? '');
      // Before the password, which the caller of a wrong proof could otherwise guess here.
      if (!proofs.isRight({ by: holder, holder: id }, proof ?? '')) throw new AppError('wrong_proof');
      const owner = user.sub;
      const write = await proveOwner({ user: owner, address: addressKey(ip), password, deadline });
      const by = { owner, holder };
      const notice = await store.acceptHolder(database, write, { id, noticeId, by });
      if (notice === null) throw new AppError('holder_not_found');
      await confirm(tell, notice, write);
      return ok;
    });

    const remove = {
      config: { access: 'user', refusals: ['holder_not_found', 'outcome_unknown', 'relay_unconfirmed'] },
      schema: {
        operationId: 'deleteHolder',
        summary: 'Delete a key holder',
        description:
          "For its owner and administrators. When it was accepted, the keys of the owner's talkgroups that require encryption rotate.",
        tags,
        params: HolderInPath,
        response: answers(Ok),
      },
    } as const;

    app.delete('/keys/holders/:id', remove, async ({ user, actor, params, deadline }) => {
      const id = readHolderId(params.id);
      const by = user.role === 'admin' ? { admin: actor } : { owner: user.sub };
      const notices = await store.deleteHolder(database, deadline, { id, noticeId: randomUUID(), by });
      if (notices === null) throw new AppError('holder_not_found');
      await confirmAll(tell, notices, deadline);
      return ok;
    });
  };
