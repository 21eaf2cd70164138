// A fleet from a spreadsheet: the commands import and export, beside a service that runs.
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { openFolder } from '../helpers/database/open-folder.js';
import { runCommand, service } from '../helpers/service/service.js';

t.setTimeout(300_000);

const s = await service(t, { REGISTRATION: 'closed' });
const folder = await openFolder(t);
const run = (...args: string[]) =>
  runCommand(args, { DATABASE_URL: s.url, JWT_SECRET: 'a test secret of more than thirty-two bytes' });
async function written(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}

t.test(
  'fifty users with devices and five talkgroups come from one file, and again nothing changes',
  async (t) => {
    const rows = Array.from(
      { length: 50 },
      (_, n) => `driver ${n},SN-${n},Engine ${n},Depot,Fire ${n % 5}${n === 7 ? '|Fire 0' : ''},`,
    );
    const file = await written(
      'fleet.csv',
      ['username;serial;device_name;site;talkgroups;password'.replaceAll(';', ','), ...rows].join('\r\n'),
    );
    const passwords = join(folder, 'passwords.csv');
    t.match(await run('import', file), {
      code: 1,
      output: /\n105 errors|\n10\d errors: nothing was written/,
    });
    t.equal((await s.sql`select from users where username like 'driver %'`).length, 0);

    const options = ['--create-talkgroups', '--passwords', passwords];
    const dry = await run('import', file, ...options, '--dry-run');
    t.match(dry.output, /^line 2: driver 0, new, device SN-0, 1 talkgroup\n/);
    t.match(
      dry.output,
      /\nand 30 further rows\ntalkgroups would be created: Fire 0, .*\n50 users would be added, 0 changed, 0 unchanged\n$/,
    );
    t.equal((await s.sql`select from users where username like 'driver %'`).length, 0, 'nothing was written');

    t.match(await run('import', file, ...options), {
      code: 0,
      output: /^talkgroups created: Fire 0, .*\n50 users added, 0 changed, 0 unchanged\n$/,
    });
    const acts =
      await s.sql`select act, count(*)::int from acts where way = 'command' group by act order by act`;
    t.strictSame(
      acts.map(({ act, count }) => [act, count]),
      [
        ['talkgroup_created', 5],
        ['user_added', 50],
      ],
    );
    t.equal((await stat(passwords)).mode & 0o777, 0o600);
    const [, line = ''] = (await readFile(passwords, 'utf8')).split('\r\n');
    const [username = '', password = ''] = line.split(',');
    const login = await s.call('POST', '/auth/login', null, { username, password });
    t.equal(login.status, 200);
    const token = login.body.jwt as string;
    t.match((await s.call('GET', '/me', token)).body.device, {
      serial: 'SN-0',
      name: 'Engine 0',
      site: 'Depot',
    });
    t.match((await s.call('GET', '/talkgroups', token)).body, {
      talkgroups: [{ talkgroup: { name: 'Fire 0' } }],
    });
    t.match(
      await run('import', file, ...options),
      { code: 0, output: /^0 users added/ },
      'no password is made, so the file is not written',
    );
    const more = await written('more.csv', 'username\ndriver 50\n');
    t.match(await run('import', more, ...options), {
      code: 1,
      output: /passwords\.csv exists: it is not replaced/,
    });

    const heard: string[] = [];
    const { unlisten } = await s.sql.listen('talkgroup_radio', (told) => void heard.push(told));
    const before = await s.sql`select id, xmin from users order by id`;
    t.match(await run('import', file), { code: 0, output: '0 users added, 0 changed, 50 unchanged\n' });
    const exported = join(folder, 'export.csv');
    t.match(await run('export', exported), { code: 0, output: /: \d+ users\n$/ });
    t.match(await run('import', exported), {
      code: 0,
      output: /^0 users added, 0 changed, \d+ unchanged\n$/,
    });
    t.same(await s.sql`select id, xmin from users order by id`, before, 'no row was touched');
    await unlisten();
    t.same(
      heard.filter((told) => told.startsWith('{')),
      [],
      'and no relay was told',
    );
    t.notMatch(await readFile(exported, 'utf8'), /\$2|password/);
  },
);

t.test('a user who is there gains a device and a talkgroup, and its radio follows at once', async (t) => {
  const ann = await s.person('gains');
  const { id } = await s.talkgroup('Gained');
  const radio = await ann.radio();
  const file = await written('gains.csv', `username,serial,talkgroups\ngains,SN-gains,${id}\n`);
  t.match(await run('import', file), { code: 0, output: '0 users added, 1 changed, 0 unchanged\n' });
  t.match(await radio.hears('TALKGROUP_JOINED'), { talkgroup_id: id });
  t.match((await ann.get('/me')).device, { serial: 'SN-gains' }, 'its token is valid');

  const [act] =
    await s.sql`select act, details from acts where details ->> 'username' = 'gains' order by id desc`;
  t.strictSame(act, {
    act: 'user_changed',
    details: { username: 'gains', serial: 'SN-gains', talkgroups: ['Gained'] },
  });

  const staff = await written('staff.csv', 'username,dispatcher\ngains,yes\n');
  t.match(await run('import', staff), { code: 0, output: '0 users added, 1 changed, 0 unchanged\n' });
  t.match((await ann.get('/me')).user, { role: 'user', dispatcher: true });
  t.match(await run('import', staff), { code: 0, output: '0 users added, 0 changed, 1 unchanged\n' });

  const other = await written('other.csv', 'username,serial,site\ngains,SN-other,Port\n');
  t.match(await run('import', other), {
    code: 1,
    output: /line 2, serial: gains has the device SN-gains: use 'user set-device'/,
  });
  await s.sql`insert into devices (name, site, serial, active) values ('off', 'Depot', 'SN-off', false)`;
  const off = await written('off.csv', 'username,serial,password\nnew one,SN-off,of the new one\n');
  t.match(await run('import', off), { code: 1, output: /line 2, serial: the device SN-off is disabled/ });
  t.equal((await s.sql`select from users where username = 'new one'`).length, 0);
  const renamed = await written(
    'renamed.csv',
    'username,serial,device_name,site\ngains,SN-gains,Engine G,Port\n',
  );
  t.match(await run('import', renamed), { code: 0 });
  t.match((await ann.get('/me')).device, { name: 'Engine G', site: 'Port' });
  const [change] = await s.sql`select act, details from acts where act = 'device_changed'`;
  t.match(change, { details: { serial: 'SN-gains', name: 'Engine G', site: 'Port' } });
});

t.test(
  'setup codes in the place of passwords: one hash for all, and each user sets an own password',
  async (t) => {
    const file = await written('coded.csv', 'username,serial\ncoded 1,SN-c1\ncoded 2,SN-c2\n');
    const codes = join(folder, 'codes.csv');
    const address = ['--address', 'https://radio.example'];
    t.match(await run('import', file, '--codes', codes, '--passwords', join(folder, 'p.csv')), { code: 1 });
    t.match(await run('import', file, ...address), { code: 1, output: /are for --codes/ });
    t.match(await run('import', file, '--codes', codes, '--hours', '700', ...address), {
      ...{ code: 0, output: /^2 users added/ },
    });
    t.equal((await stat(codes)).mode & 0o777, 0o600);
    const [head, ...lines] = (await readFile(codes, 'utf8')).trim().split('\r\n');
    t.equal(head, 'username,code,link');
    const rows = await s.sql`select distinct password_hash from users where username like 'coded %'`;
    t.equal(rows.length, 1);
    for (const line of lines) {
      const [username = '', code = '', link = ''] = line.split(',');
      t.equal(link, `https://radio.example/console/#setup=${code}`);
      const answer = await s.call('POST', '/auth/setup', null, { code, password: `of ${username}` });
      t.equal(answer.status, 200);
      const login = { username, password: `of ${username}` };
      t.equal((await s.call('POST', '/auth/login', null, login)).status, 200);
    }
    const [left] = await s.sql`select count(*)::int from setup_codes`;
    t.equal(left?.count, 0);
    t.match(
      await run('import', file, '--codes', codes),
      { code: 0, output: /2 unchanged/ },
      'no code is made',
    );
  },
);

t.test('a second import waits for the first one, and then says so', async (t) => {
  const file = await written('late.csv', 'username\nlate\n');
  const held = await s.sql.reserve();
  t.teardown(() => held.release());
  await held`select pg_advisory_lock(7261904)`;
  t.match(await run('import', file, '--passwords', join(folder, 'late-passwords.csv')), {
    code: 1,
    output: /another import is running: nothing was written/,
  });
  await held`select pg_advisory_unlock(7261904)`;
  t.equal((await s.sql`select from users where username = 'late'`).length, 0);
});
