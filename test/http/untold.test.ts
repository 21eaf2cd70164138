// What the service never tells: all output of a run in which everything is said, done and refused, and its metrics.
import t from 'tap';
import { connect, SECRET, serviceProcess } from '../helpers/service/service.js';

const PASSWORDS = {
  admin: 'the chief is quiet',
  right: 'nine lives, one word',
  wrong: 'a wrong guess',
  old: 'not the old one',
  half: 'half a body',
};
const SPEECH = 'spoken in confidence';
const TEXT = 'typed in confidence';
const LATITUDE = 12.345678;

t.test(
  'no token, key, password, hash, position or audio is in the output or the metrics of a run',
  async (t) => {
    const s = await serviceProcess(t, { LOG_LEVEL: 'trace', ADMIN_PASSWORD: PASSWORDS.admin });
    const status = async (...request: Parameters<typeof s.call>) => (await s.call(...request)).status;

    const cat = { username: 'cat', password: PASSWORDS.right };
    const registered = await s.call('POST', '/auth/register', null, { ...cat, deviceSerial: 'SN-9' });
    const jwt = String(registered.body.jwt);
    const forged = `${jwt.slice(0, -6)}forged`;
    const change = { oldPassword: PASSWORDS.old, newPassword: 'new' };
    t.equal(await status('POST', '/auth/login', null, cat), 200);
    t.equal(await status('POST', '/auth/login', null, { ...cat, password: PASSWORDS.wrong }), 401);
    t.equal(await status('POST', '/auth/changepassword', jwt, change), 401);
    t.equal(await status('GET', '/talkgroups', forged), 401);
    t.equal(await status('GET', `/talkgroups?token=${jwt}`, null), 401);
    t.equal(await status('GET', `/no/such/${jwt}`, jwt), 404);
    const broken = await fetch(`${s.rest}/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: `{"password":"${PASSWORDS.half}`,
    });
    t.equal(broken.status, 400);

    const crew = await s.crew(t, 2, { name: 'quiet' });
    const [talker, listener] = crew.radios;
    talker.speaks(crew.number, SPEECH, { start: true, end: true });
    await listener.hearsText(SPEECH);
    talker.says({ type: 'GPS_UPDATE', lat: TEXT });
    await talker.hears('ERROR');
    await (await connect(t, `${s.ws}/ws?token=${forged}`)).closes();
    talker.socket.terminate();
    const again = await crew.people[0].resumes(talker);
    t.equal(again.welcome?.resumed, true);
    await s.admin.post('/keys/rotate', { talkgroup_id: crew.id });

    // A bug, so that an error of the database is logged with whatever it carries: the whole row.
    await s.sql.unsafe(`alter table gps_fixes add constraint broken check (lat <> ${LATITUDE}) not valid`);
    const [device] = await s.sql`select id from devices where serial = 'SN-9'`;
    const fix = { lat: LATITUDE, lng: 1, alt: 1 };
    t.equal(await status('POST', `/devices/${device?.id}/gps`, jwt, fix), 500);

    const metrics = await (await fetch(s.metrics)).text();
    const [talkgroup] = await s.sql`select master_secret from talkgroups`;
    const [user] = await s.sql`select password_hash from users where username = 'cat'`;
    s.signal('SIGTERM');
    t.equal(await s.exit(), 0);

    const output = s.output();
    t.match(output, 'request failed', 'the bug was logged');
    t.match(output, 'connected');
    const tokens = [jwt, forged, s.admin.token, ...crew.people.map(({ token }) => token)];
    const untold = {
      passwords: Object.values(PASSWORDS),
      key: [SECRET],
      tokens: tokens.flatMap((token) => [token, ...token.split('.').slice(1)]),
      'resume tokens': [talker, again].map(({ welcome }) => String(welcome?.resume_token)),
      hash: [String(user?.password_hash)],
      'master secret': spellings(talkgroup?.master_secret),
      speech: [SPEECH, ...spellings(Buffer.from(SPEECH))],
      'what a client wrote': [TEXT, String(LATITUDE)],
    };
    for (const [what, texts] of Object.entries(untold)) {
      t.ok(texts.length > 0 && texts.every((text) => text.length > 5), what);
      for (const text of texts) t.notOk((output + metrics).includes(text), `no ${what}`);
    }
  },
);

/** As bytes get into a text. */
const spellings = (bytes: Buffer) => [
  bytes.toString('hex'),
  bytes.toString('base64').replace(/=+$/, ''),
  bytes.toString('base64url'),
  bytes.join(),
];
