// Clocks that were wrong and are set right: what is revoked stays revoked, whoever's clock was ahead.
import t from 'tap';
import { connect, service, serviceProcess } from '../helpers/service/service.js';

const AHEAD_S = 7200;
/** The clock of the process only, as of a node that has not heard of the time yet. */
const clockAhead = (seconds: number): string => {
  const code = `const now = Date.now; Date.now = () => now() + ${seconds * 1000};`;
  return `--import=data:text/javascript,${encodeURIComponent(code)}`;
};

type Json = Record<string, unknown>;
type People = Pick<Awaited<ReturnType<typeof service>>, 'call' | 'admin'>;

async function registered({ call }: People, username: string) {
  const password = `password of ${username}`;
  const { body } = await call('POST', '/auth/register', null, { username, password });
  const { jwt: token, userId: id } = body as { jwt: string; userId: string };
  const logIn = async () => {
    const answer = await call('POST', '/auth/login', null, { username, password });
    return (answer.body as { jwt: string }).jwt;
  };
  return { id, token, logIn };
}

const issued = (token: string): number =>
  (JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as { iat: number }).iat;

for (const seconds of [AHEAD_S, 5, -5])
  t.test(`tokens of a node whose clock is off by ${seconds} s end with the revocation`, async (t) => {
    const s = await serviceProcess(t, { NODE_OPTIONS: clockAhead(seconds) });
    const ann = await registered(s, 'ann');
    const radio = await connect(t, `${s.ws}/ws?token=${ann.token}`);
    await s.admin.post(`/users/${ann.id}/revoke`);
    t.same(await radio.closes(), { code: 1008, reason: 'invalid token' });
    t.equal((await s.call('GET', '/me', ann.token)).status, 401);
    const again = await ann.logIn();
    t.equal((await s.call('GET', '/me', again)).status, 200, 'a new token is valid at once');
    await s.admin.post(`/users/${ann.id}/revoke`);
    t.equal((await s.call('GET', '/me', again)).status, 401, 'until the next revocation');
  });

t.test('tokens of a time that the clock of the database was ahead of end with the revocation', async (t) => {
  const s = await service(t);
  const ann = await registered(s, 'ann');
  const nowS = Math.floor(Date.now() / 1000);
  t.ok(Math.abs(issued(ann.token) - nowS) <= 2, 'issued now');
  // What is left of two hours ahead: the stored time, and a token with it.
  await s.sql`update token_times set newest_iat = ${nowS + AHEAD_S}`;
  const early = s.sign({ sub: ann.id as never, username: 'ann', role: 'user', iat: nowS + AHEAD_S });
  t.ok(issued(await ann.logIn()) <= nowS + 10, 'a token of now is dated now');
  const radio = await connect(t, `${s.ws}/ws?token=${early}`);
  await s.admin.post(`/users/${ann.id}/revoke`);
  t.same(await radio.closes(), { code: 1008, reason: 'invalid token' });
  t.equal((await s.call('GET', '/me', early)).status, 401);
  const again = await ann.logIn();
  t.equal((await s.call('GET', '/me', again)).status, 200, 'who logs in again is in');
  await s.admin.post(`/users/${ann.id}/revoke`);
  t.equal((await s.call('GET', '/me', again)).status, 401);
});

t.test('while the newest time of issue cannot be stored, a login is dated back and works', async (t) => {
  const s = await service(t);
  const ann = await registered(s, 'ann');
  await s.sql`update token_times set newest_iat = newest_iat - 3600`;
  await s.sql`
    create function refuse() returns trigger language plpgsql as $$ begin raise 'no space left'; end $$`;
  await s.sql`create trigger refuse before update on token_times for each row execute function refuse()`;
  const [before] = await s.sql<{ newest: number }[]>`select newest_iat::int as newest from token_times`;
  const token = await ann.logIn();
  t.equal(issued(token), before?.newest);
  t.equal((await s.call('GET', '/me', token)).status, 200);
  const { status, body } = await s.call('POST', '/auth/register', null, {
    username: 'bob',
    password: 'password of bob',
  });
  t.equal(status, 200);
  t.equal(issued(String((body as Json).jwt)), before?.newest);
});
