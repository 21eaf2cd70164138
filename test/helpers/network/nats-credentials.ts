// Makes what a nats-server with accounts wants: an operator, an account, and a user with a credentials file.
//
// A JWT of NATS is signed with an Ed25519 key and names its issuer: https://docs.nats.io (JWT guide).
import { nkeys } from '@nats-io/transport-node';

const UNLIMITED = { subs: -1, data: -1, payload: -1 };

/** `subjects` are all that the user may publish and subscribe to. */
export function issueCredentials(subjects: readonly string[]) {
  const [operator, account, user] = [nkeys.createOperator(), nkeys.createAccount(), nkeys.createUser()];
  const only = { allow: subjects };
  const operatorToken = token(operator, operator, { type: 'operator' });
  const accountToken = token(operator, account, {
    type: 'account',
    limits: { ...UNLIMITED, imports: -1, exports: -1, wildcards: true, conn: -1, leaf: -1 },
  });
  const userToken = token(account, user, { type: 'user', pub: only, sub: only, ...UNLIMITED });
  return {
    /** Settings of the server. */
    settings: `operator: ${operatorToken}
resolver: MEMORY
resolver_preload: { ${account.getPublicKey()}: ${accountToken} }`,
    /** Content of the file. */
    file: `-----BEGIN NATS USER JWT-----
${userToken}
------END NATS USER JWT------

-----BEGIN USER NKEY SEED-----
${Buffer.from(user.getSeed()).toString()}
------END USER NKEY SEED------
`,
  };
}

function token(issuer: nkeys.KeyPair, subject: nkeys.KeyPair, claims: object): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const sub = subject.getPublicKey();
  const body = {
    ...{ jti: sub, iat: Math.floor(Date.now() / 1000), iss: issuer.getPublicKey(), name: sub, sub },
    nats: { ...claims, version: 2 },
  };
  const signed = `${part({ typ: 'JWT', alg: 'ed25519-nkey' })}.${part(body)}`;
  return `${signed}.${Buffer.from(issuer.sign(Buffer.from(signed))).toString('base64url')}`;
}
