// Serves the key of one recorded burst, sealed for a key holder of the caller.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { Database } from '../../db/client.js';
import type { Deadline } from '../../db/deadline.js';
import { AppError } from '../../errors.js';
import { answers } from '../../http/schemas.js';
import { type HolderId, readId } from '../../ids.js';
import { toBase64url } from '../../protocol/encryption.js';
import { readRecordingId } from '../../protocol/recording-id.js';
import type { Access } from '../reading/store.js';
import { KeyQuery, RecordingInPath, RecordingKey } from '../schemas.js';
import { type KeyOfBurst, readKey, type WhyNoKey } from './store.js';

/** Makes the keys of bursts and seals them (keys/bursts.ts). */
export interface BurstKeys {
  /** Takes one seal from the user's share. Throws `too_many_keys`. */
  admit(user: string): void;
  /** null: the master secret is not there any more. Throws `too_many_keys` or `sealing_unavailable`. */
  seal(
    deadline: Deadline,
    key: KeyOfBurst & { readonly recording: string; readonly holder: HolderId },
  ): Promise<{ readonly enc: Uint8Array; readonly sealed: Uint8Array } | null>;
}

export interface RecordingKeyOptions {
  readonly database: Database;
  readonly access: Access;
  readonly bursts: BurstKeys;
}

/** GET /recordings/:id/key. */
export const recordingKeyRoutes =
  ({ database, access, bursts }: RecordingKeyOptions): FastifyPluginAsyncTypebox =>
  async (app) => {
    const key = {
      // Fastify would run the handler for HEAD as well, and note that the caller got the key.
      exposeHeadRoute: false,
      config: {
        access: 'user',
        refusals: [
          'recording_not_found',
          'recording_key_not_found',
          'not_encrypted',
          'recording_erased',
          'recording_key_lost',
          'too_many_keys',
          'sealing_unavailable',
          'outcome_unknown',
        ],
      },
      schema: {
        operationId: 'getRecordingKey',
        summary: 'Fetch the key of a recording',
        description:
          'The key of an encrypted recording that the caller may hear, sealed for one of its accepted key holders as the keys of epochs are. It opens the frames of this burst and no other ones. The key holder of a member was accepted before the recording began. Where encryption was required then, the member had the key of the talker. For an administrator the time of acceptance does not count. The service notes who got the key. It counts among the 10 keys that a user may fetch in a second.',
        tags: ['recordings'],
        params: RecordingInPath,
        querystring: KeyQuery,
        response: answers(RecordingKey),
      },
    } as const;

    app.get('/recordings/:id/key', key, async ({ params: { id }, query, user, deadline }, reply) => {
      if (readRecordingId(id) === null) throw new AppError('recording_not_found');
      const holder = readId<HolderId>(query.holder_id);
      if (holder === null) throw new AppError('recording_key_not_found');
      bursts.admit(user.sub);
      const found = await readKey(database, deadline, { user: user.sub, access }, { id, holder });
      if (found === null) throw new AppError('recording_not_found');
      if (typeof found === 'string') throw new AppError(REFUSALS[found]);
      const letter = await bursts.seal(deadline, { ...found, recording: id, holder });
      if (letter === null) throw new AppError('recording_key_lost');
      reply.header('cache-control', 'no-store');
      return { recording_id: id, enc: toBase64url(letter.enc), sealed: toBase64url(letter.sealed) };
    });
  };

const REFUSALS = {
  erased: 'recording_erased',
  clear: 'not_encrypted',
  no_holder: 'recording_key_not_found',
  lost: 'recording_key_lost',
} as const satisfies Record<WhyNoKey, string>;
