// Serves the keys of talkgroups by REST: their rotation, and the sealed keys of epochs.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { Database } from '../db/client.js';
import type { Tell } from '../db/notice.js';
import { USE_IN_MS } from '../db/rotation.js';
import { AppError } from '../errors.js';
import { confirmAll } from '../http/confirm.js';
import { readDeviceId, readTalkgroupId } from '../http/paths.js';
import { answers } from '../http/schemas.js';
import { type HolderId, readId, type TalkgroupId } from '../ids.js';
import { sealedPage } from './epochs.js';
import * as rotations from './rotations/store.js';
import {
  EPOCHS_MAX,
  EpochQuery,
  Epochs,
  Rotation,
  RotationDone,
  RotationOrder,
  TalkgroupQuery,
} from './schemas.js';
import type { Sealing, SealJob } from './sealing.js';
import * as store from './store.js';
import type { Keyring } from './wrapping.js';

export interface KeyOptions {
  readonly database: Database;
  readonly tell: Tell;
  readonly sealing: Sealing;
  readonly keyring: Pick<Keyring, 'unwrap'>;
}

/** Rotation, and GET /keys/epochs. */
export const keyRoutes =
  ({ database, tell, sealing, keyring }: KeyOptions): FastifyPluginAsyncTypebox =>
  async (app) => {
    const tags = ['keys'];

    const read = {
      config: { access: 'user', refusals: ['talkgroup_not_found'] },
      schema: {
        operationId: 'getRotation',
        summary: 'Read the rotation counter of a talkgroup',
        description: 'Every user may read it, member or not.',
        tags,
        querystring: TalkgroupQuery,
        response: answers(Rotation),
      },
    } as const;

    app.get('/keys/rotation', read, async ({ query, deadline }) => {
      const rotation = await rotations.rotationOf(database, deadline, readTalkgroupId(query.talkgroup_id));
      if (rotation === null) throw new AppError('talkgroup_not_found');
      return rotation;
    });

    const advance = {
      config: {
        access: 'admin',
        refusals: ['talkgroup_not_found', 'device_not_found', 'outcome_unknown', 'relay_unconfirmed'],
      },
      schema: {
        operationId: 'rotateKey',
        summary: 'Advance the rotation counter of a talkgroup',
        description:
          'Adds 1 and returns the new value. Each request that is carried out adds 1. Connected members receive KEY_ROTATED. Talkers use the new key after `use_in_ms`. With `device_id` it rotates the talkgroups of all users of a device, such as a lost one.',
        tags,
        body: RotationOrder,
        response: answers(RotationDone),
      },
    } as const;

    app.post('/keys/rotate', advance, async ({ body, actor: by, deadline }) => {
      const { talkgroup_id = '', device_id, use_in_ms: useInMs = USE_IN_MS } = body;
      if (device_id !== undefined) {
        const device = readDeviceId(device_id);
        const done = await rotations.rotateForDevice(database, deadline, { device, useInMs, by });
        if (done === null) throw new AppError('device_not_found');
        await confirmAll(tell, done.notices, deadline);
        return { rotated: [...done.rotations] };
      }
      const talkgroup = readTalkgroupId(talkgroup_id);
      const done = await rotations.rotate(database, deadline, { talkgroup, useInMs, by });
      const [rotation] = done.rotations;
      if (rotation === undefined) throw new AppError('talkgroup_not_found');
      await confirmAll(tell, done.notices, deadline);
      return rotation;
    });

    const fetchEpochs = {
      config: {
        access: 'user',
        refusals: ['epochs_not_found', 'too_many_keys', 'sealing_unavailable'],
      },
      schema: {
        operationId: 'listEpochs',
        summary: 'Fetch the keys of a talkgroup',
        description:
          'The keys of the epochs that the caller may have, sealed for one of its accepted key holders (HPKE, base mode, DHKEM P-256, HKDF-SHA256, AES-256-GCM). The caller is a member. Where encryption is required, an administrator permitted it to have keys. A user may fetch 10 keys a second.',
        tags,
        querystring: EpochQuery,
        response: answers(Epochs),
      },
    } as const;

    app.get('/keys/epochs', fetchEpochs, async ({ user: { sub: user }, query, deadline, log }) => {
      const talkgroup = readId<TalkgroupId>(query.talkgroup_id);
      const holder = readId<HolderId>(query.holder_id);
      if (talkgroup === null || holder === null) throw new AppError('epochs_not_found');
      sealing.admit(user);
      const from = query.from === undefined ? null : Number(query.from);
      const limit = Number(query.limit ?? EPOCHS_MAX);
      const asked = { talkgroup, holder, user, from, limit };
      const found = await store.epochsOfHolder(database, deadline, asked);
      if (found === null) throw new AppError('epochs_not_found');
      const master = keyring.unwrap(talkgroup, found.stored);
      if (typeof master === 'string') {
        log.error({ talkgroup, reason: master }, 'master secret not decrypted');
        throw new AppError('sealing_unavailable');
      }
      const seal = (job: SealJob) => {
        sealing.charge(user, job.items.length - 1);
        return sealing.seal(deadline, job);
      };
      const page = await sealedPage({ talkgroup, holder, limit }, found, { master, seal });
      if (found.isUseDue) {
        // Expected where the database cannot be written: the keys go out all the same.
        await store.noteUse(database, deadline, holder).catch((error) => {
          log.warn({ holder, err: error }, 'use of a key holder not noted');
        });
      }
      return page;
    });
  };
