// The steps of docs/operations.md that make a database, back it up and bring it back, carried out as they are written.
import type { Stats } from 'node:fs';
import { mkdir, readdir, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { DATABASE_CA, startExternal } from '../helpers/database/external-database.js';
import { openFolder } from '../helpers/database/open-folder.js';
import { carryOut } from '../helpers/pages/operations-page.js';
import { unless } from '../helpers/programs.js';
import { type StartedService, startService } from '../helpers/service/started-service.js';

t.setTimeout(300_000);

t.test('a copy of DATA_DIR brings back accounts, tokens, memberships and positions', async (t) => {
  const folder = await openFolder(t);
  const [DATA_DIR, BACKUP] = [join(folder, 'data'), join(folder, 'backup')];

  const first = await startService(t, { DATA_DIR });
  const password = String(first.password);
  const before = await fill(first, await first.login('admin', password));
  t.equal(await first.end(), 0);
  await carryOut('copy-data', { DATA_DIR, BACKUP });

  const second = await startService(t, { DATA_DIR });
  await second.ask('POST', '/talkgroups', { token: before.admin, body: { name: 'after the backup' } });
  t.equal(await second.end(), 0);

  await t.rejects(carryOut('restore-data', { DATA_DIR, BACKUP }), /exit code 1/, 'not onto other data');
  await rename(DATA_DIR, join(folder, 'old'));
  await t.rejects(carryOut('restore-data', { DATA_DIR, BACKUP: join(folder, 'typo') }), /exit code 1/);
  await carryOut('restore-data', { DATA_DIR, BACKUP });
  const third = await startService(t, { DATA_DIR });
  t.equal(third.password, null, 'no new admin');
  await third.login('admin', password);
  t.same(await contentOf(third, before), before.content);
  t.equal(await third.end(), 0);

  const mount = join(folder, 'mount');
  await mkdir(mount, { mode: 0o700 });
  await mkdir(join(mount, 'lost+found'));
  await carryOut('restore-data', { DATA_DIR: mount, BACKUP });
  t.same((await readdir(mount)).sort(), [...(await readdir(BACKUP)), 'lost+found'].sort());
  for (const name of ['.', 'postgres'])
    t.match(await stat(join(mount, name)), ownerOf(await stat(join(BACKUP, name))), name);
  const fourth = await startService(t, { DATA_DIR: mount });
  t.same(await contentOf(fourth, before), before.content);
  t.equal(await fourth.end(), 0);
});

const ownerOf = ({ uid, gid, mode }: Stats) => ({ uid, gid, mode });

t.test(
  'an external database is made from nothing, dumped, and brought back from the dump',
  { skip: unless('initdb', 'postgres', 'psql', 'pg_dump', 'pg_restore', 'createdb', 'dropdb', 'openssl') },
  async (t) => {
    const server = await startExternal(t);
    const BACKUP = join(await openFolder(t), 'radio.dump');
    const DATABASE_URL = await makeDatabase(server);
    const settings = {
      DATABASE_URL,
      NODE_EXTRA_CA_CERTS: DATABASE_CA,
      JWT_SECRET: 'the same key before and after the restore',
      ADMIN_PASSWORD: 'password of the dispatcher',
    };

    const first = await startService(t, settings);
    const before = await fill(first, await first.login('admin', settings.ADMIN_PASSWORD));
    await carryOut('dump-database', { ...server, DATABASE_URL, BACKUP });
    t.equal((await stat(BACKUP)).mode & 0o777, 0o600, 'only its owner can read the dump');
    await first.ask('POST', '/talkgroups', { token: before.admin, body: { name: 'after the dump' } });
    t.equal(await first.end(), 0);

    await carryOut('empty-database', server);
    await carryOut('restore-database', { ...server, DATABASE_URL, BACKUP });
    const second = await startService(t, settings);
    t.same(await contentOf(second, before), before.content);
    await second.ask('POST', '/talkgroups', { token: before.admin, body: { name: 'goes on' } });
    t.equal(await second.end(), 0);

    const { NODE_EXTRA_CA_CERTS: _, ...unaware } = settings;
    await t.rejects(
      startWithin(t, unaware),
      /not ready/,
      'verify-full rejects a certificate of an unknown CA',
    );
  },
);

/** Its address as the step prints it. */
async function makeDatabase(server: Readonly<Record<string, string>>): Promise<string> {
  const printed = await carryOut('new-database', server);
  const [, url] = /^DATABASE_URL=(\S+)$/m.exec(printed) ?? [];
  if (url === undefined) throw new Error(`no address: ${printed}`);
  return url;
}

/** A service that does not reach its database waits for it. */
async function startWithin(t: Test, settings: Readonly<Record<string, string>>): Promise<void> {
  const late = new Promise<never>((_, reject) =>
    setTimeout(() => reject(new Error('not ready')), 3000).unref(),
  );
  await Promise.race([startService(t, settings), late]);
}

/** A talkgroup, and Ann with a device and a position in it. */
async function fill(service: StartedService, admin: string) {
  const made = await service.ask('POST', '/talkgroups', { token: admin, body: { name: 'Fire 1' } });
  const group = (made.talkgroup as { id: string }).id;
  const account = { username: 'ann', password: 'over and out', deviceSerial: 'SN-1', site: 'Depot' };
  const ann = String((await service.ask('POST', '/auth/register', { body: account })).jwt);
  await service.ask('POST', `/talkgroups/${group}/join`, { token: ann });
  const { devices } = await service.ask('GET', '/devices', { token: admin });
  const device = (devices as { id: string }[])[0]?.id ?? '';
  await service.ask('POST', `/devices/${device}/gps`, {
    token: ann,
    body: { lat: 52.52, lng: 13.405, alt: 34 },
  });
  const filled = { admin, ann, group, device };
  return { ...filled, content: await contentOf(service, filled) };
}

/** What Ann's token of before shows. */
async function contentOf(
  service: StartedService,
  { ann, group, device }: { ann: string; group: string; device: string },
) {
  return [
    await service.ask('GET', '/talkgroups', { token: ann }),
    await service.ask('GET', `/talkgroups/${group}/members`, { token: ann }),
    await service.ask('GET', `/devices/${device}/gps`, { token: ann }),
    await service.ask('GET', '/talkgroups/directory', { token: ann }),
  ];
}
