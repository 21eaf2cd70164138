// Gives members of a fleet key holders, and their talkgroup the encryption that needs them, in the database of a relay.
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createSigner } from 'fast-jwt';
import postgres from 'postgres';
import { createHolderKey, envelopeSuite } from '../../src/client/encryption/holder.js';
import { toBase64url } from '../../src/protocol/encryption.js';
import type { Trusted } from '../radios/keyed-radio.js';
import type { Member } from '../radios/member.js';
import type { Relay } from './relay.js';

/**
 * Each member gets a holder, and its first talkgroup requires encryption. Must run before any of them connects: it sends
 * no notices. `adminToken` is that of a new administrator.
 */
export async function entrust(
  { dataDir, jwtSecret }: Pick<Relay, 'dataDir' | 'jwtSecret'>,
  members: readonly Member[],
): Promise<{ readonly trusted: readonly Trusted[]; readonly adminToken: string }> {
  const trusted: Trusted[] = [];
  for (const member of members) {
    const { pair, publicKey } = await createHolderKey({ extractable: true });
    const privateKey = await envelopeSuite.SerializePrivateKey(pair.privateKey);
    trusted.push({
      ...member,
      holderId: randomUUID(),
      publicKey: toBase64url(publicKey),
      privateKey: toBase64url(privateKey),
    });
  }
  const admin = randomUUID();
  const url = await readFile(join(dataDir, 'postgres.url'), 'utf8');
  const sql = postgres(url, { max: 1 });
  try {
    const talkgroups = [...new Set(members.map(({ talkgroups: [first] }) => first?.id ?? ''))];
    await sql`update talkgroups set encryption = 'required' where id = any(${talkgroups}::uuid[])`;
    await sql`update memberships set may_have_keys = true where talkgroup_id = any(${talkgroups}::uuid[])`;
    await sql`
      insert into key_holders (id, user_id, public_key, name, accepted_at)
      select id, u.user_id, decode(public_key, 'hex'), 'bench', now()
      from unnest(
        ${trusted.map(({ holderId }) => holderId)}::uuid[],
        ${trusted.map(({ username }) => username)}::text[],
        ${trusted.map(({ publicKey }) => Buffer.from(publicKey, 'base64url').toString('hex'))}::text[]
      ) as new (id, username, public_key)
      join lateral (select users.id as user_id from users where users.username = new.username) u on true`;
    await sql`insert into users (id, username, password_hash, role) values (${admin}, ${`admin-${admin}`}, 'none', 'admin')`;
  } finally {
    await sql.end();
  }
  const sign = createSigner({ key: jwtSecret, algorithm: 'HS256' });
  return { trusted, adminToken: sign({ sub: admin, username: `admin-${admin}`, role: 'admin' }) };
}
