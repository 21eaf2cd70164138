// The CSV file of a fleet: what is read, what each fault is called, and the plan that follows from it.
import fc from 'fast-check';
import t from 'tap';
import { csvLine, readCsv } from '../../src/fleet/csv.js';
import { type Known, type PlanOptions, planOf } from '../../src/fleet/plan.js';
import type { DeviceId, TalkgroupId, UserId } from '../../src/ids.js';

const bytes = (text: string) => new TextEncoder().encode(text);
const HEAD = 'username,serial,device_name,site,talkgroups,password\n';
const FIRE = '11111111-1111-4111-8111-111111111111' as TalkgroupId;
const TWIN = '22222222-2222-4222-8222-222222222222' as TalkgroupId;
const OTHER = '33333333-3333-4333-8333-333333333333' as TalkgroupId;

const KNOWN: Known = {
  users: new Map([
    [
      'ann',
      { id: 'u-ann' as UserId, serial: 'SN-1', talkgroups: [FIRE], is_admin: false, is_dispatcher: true },
    ],
    ['bob', { id: 'u-bob' as UserId, serial: null, talkgroups: [], is_admin: true, is_dispatcher: false }],
  ]),
  devices: new Map([
    ['SN-1', { id: 'd-1' as DeviceId, name: 'Engine 1', site: 'Depot', active: true }],
    ['SN-9', { id: 'd-9' as DeviceId, name: 'Engine 9', site: 'Depot', active: false }],
  ]),
  talkgroups: [
    { id: FIRE, name: 'Fire 1' },
    { id: TWIN, name: 'Twins' },
    { id: OTHER, name: 'Twins' },
  ],
};

function plan(rows: string, over: Partial<PlanOptions> = {}) {
  const { lines, errors } = readCsv(bytes(HEAD + rows));
  t.same(errors, []);
  return planOf(lines, {
    ...{
      known: KNOWN,
      mayCreateTalkgroups: false,
      makesPasswords: true,
      passwordLengthMin: 1,
      adminUsername: 'admin',
      ...over,
    },
  });
}
const faultsOf = (rows: string, over: Partial<PlanOptions> = {}) =>
  plan(rows, over).errors.map(({ line, column, text }) => `line ${line}, ${column}: ${text}`);

t.test('a file of a spreadsheet is read, whatever it is written with', async (t) => {
  const wanted = [
    { line: 2, cells: { username: 'ann', site: 'Depot, north' } },
    { line: 3, cells: { username: 'bob', site: 'two\nlines' } },
    { line: 5, cells: { username: 'cid' } },
  ];
  const text = 'username,site\nann,"Depot, north"\nbob,"two\nlines"\ncid,\n';
  t.same(readCsv(bytes(text)), { lines: wanted, errors: [] });
  t.same(
    readCsv(bytes(`\uFEFF${text.replaceAll(/(?<!two)\n/g, '\r\n')}`)).lines,
    wanted,
    'with BOM and CRLF',
  );
  t.same(readCsv(bytes(text.replaceAll(/,(?! )/g, ';'))).lines, wanted, 'with semicolons');
  t.same(readCsv(bytes(`${text}\n\n,\n`)).lines, wanted, 'with empty lines');
});

t.test('a file that is none has one line with the reason', async (t) => {
  for (const [file, line, text] of [
    ['', 1, 'the file is empty'],
    ['username,name\n', 1, 'no such column: "name"'],
    ['ann,secret\n', 1, /^the first line must name the columns: username, /],
    ['username,username\n', 1, 'the column username is there twice'],
    ['username,site\nann\n', 2, '1 cells, the header has 2'],
    ['username\nann\nb"x\ncid\n', 3, /^a quote is wrong here/],
    ['username\nann\n"bob\ncid\n', 3, /^a quote is wrong here/],
  ] as const)
    t.match(readCsv(bytes(file)).errors.at(0), { line, text }, JSON.stringify(file));
  t.match(
    readCsv(bytes('username\n')),
    { lines: { length: 0 }, errors: { length: 0 } },
    'a header alone is none',
  );
  const latin1 = new Uint8Array([...bytes('username\nann\nj'), 0xf6, ...bytes('rg\n')]);
  t.match(readCsv(latin1).errors, [{ line: 3, text: 'the text is not UTF-8' }]);
  const utf16 = new Uint8Array([0xff, 0xfe, 0x75, 0]);
  t.match(readCsv(utf16).errors, [{ line: 1, text: 'the text is not UTF-8' }]);
  t.match(readCsv(new Uint8Array(17 << 20)).errors, [{ text: 'the file is larger than 16 MiB' }]);
  t.match(readCsv(bytes(`username\n${'x\n'.repeat(50_001)}`)).errors, [
    { text: 'the file has more than 50000 rows' },
  ]);
});

t.test('what is written is read again, and no cell begins like a formula', async (t) => {
  const cell = fc
    .string({
      unit: fc.constantFrom('=', '+', '-', '@', "'", '"', ',', ';', '\n', ' ', 'a', 'ä', '|'),
      minLength: 1,
    })
    .filter((text) => text.trim() !== '');
  fc.assert(
    fc.property(cell, cell, (username, site) => {
      const line = csvLine([username, site]);
      const [read] = readCsv(bytes(`username,site\n${line}`)).lines;
      t.same(read?.cells, { username, site }, line);
      t.notMatch(line, /^"?[=+\-@]/);
    }),
  );
});

t.test('rows add what is missing, and what is there is unchanged', async (t) => {
  const { steps, unchanged, devices, errors } = plan(
    'ann,SN-1,,,Fire 1,\nbob,SN-2,Engine 2,,fire 1|Fire 1,\ncid,SN-2,,Harbour,,secret\n',
    { mayCreateTalkgroups: true },
  );
  t.same(errors, []);
  t.equal(unchanged, 1);
  t.same(devices, []);
  const device = { serial: 'SN-2', name: 'Engine 2', site: 'Harbour' };
  t.same(steps, [
    {
      line: 3,
      username: 'bob',
      user: 'u-bob',
      password: null,
      device,
      talkgroups: [{ name: 'fire 1' }, { id: FIRE }],
      isDispatcher: false,
    },
    { line: 4, username: 'cid', user: null, password: 'secret', device, talkgroups: [], isDispatcher: false },
  ]);
  t.same(plan('ann,SN-1,Engine 5,,,\n').devices, [{ id: 'd-1', name: 'Engine 5', site: 'Depot' }]);
  t.match(
    plan(`ann,,,,${FIRE.toUpperCase()},x\n`),
    { steps: { length: 0 }, unchanged: 1 },
    'no password changes',
  );
});

t.test('a row makes a dispatcher, and takes that right from no user', async (t) => {
  const rows = (text: string) => {
    const { lines } = readCsv(bytes(`username,dispatcher\n${text}`));
    const { steps, unchanged, errors } = planOf(lines, {
      ...{ known: KNOWN, mayCreateTalkgroups: false, makesPasswords: true, passwordLengthMin: 1 },
      adminUsername: 'admin',
    });
    return { added: steps.map(({ username, isDispatcher }) => [username, isDispatcher]), unchanged, errors };
  };
  t.match(rows('ann,yes\nbob,no\ncid,yes\ndan,no\n'), {
    added: [
      ['cid', true],
      ['dan', false],
    ],
    ...{ unchanged: 2, errors: [] },
  });
  const faults = rows('ann,no\nbob,yes\ncid,Yes\n').errors;
  t.strictSame(
    faults.map(({ line, text }) => `${line}: ${text}`),
    [
      "2: ann is a dispatcher: use 'user set-role'",
      '3: bob is an admin, who may do the same',
      '4: must be yes or no',
    ],
  );
});

t.test('each fault names its line and its column', async (t) => {
  for (const [rows, ...faults] of [
    ['ann,SN-2,,,,\n', "line 2, serial: ann has the device SN-1: use 'user set-device'"],
    ['bob,SN-9,,,,\n', 'line 2, serial: the device SN-9 is disabled'],
    ['cid,,,,Fire 9,\n', 'line 2, talkgroups: no such talkgroup: Fire 9. --create-talkgroups creates it'],
    ['cid,,,,Twins,\n', 'line 2, talkgroups: several talkgroups are named Twins: use the id'],
    ['cid,,,,,\nann,,,,,\ncid,,,,,\n', 'line 4, username: cid is in line 2 as well'],
    ['cid,SN-3,,Depot,,\ndan,SN-3,,Port,,\n', 'line 3, site: SN-3 has another site in line 2'],
    ['cid,SN-3,,,,\ndan,SN-3,,Port,,\neve,SN-3,,Depot,,\n', 'line 4, site: SN-3 has another site in line 3'],
    ['cid,,Engine,,,\n', 'line 2, device_name: needs a serial'],
    ['admin,,,,,\n', "line 2, username: admin is ADMIN_USERNAME: use 'admin add'"],
    ['c\0id,SN\0,,,,\n', /^line 2, username: must have/],
    [`cid,${'x'.repeat(129)},,,,\n`, /^line 2, serial: must have 1 to 128 characters/],
    ['c\u200bid,,,,,\n', /^line 2, username: must have 1 to 64 characters/],
    [`cid,,,,,${'x'.repeat(73)}\n`, 'line 2, password: must have 1 to 72 bytes of UTF-8 without NUL'],
  ] as const)
    t.match(faultsOf(rows), faults, rows.slice(0, 40));
  const many = Array.from({ length: 65 }, (_, n) => `g${n}`).join('|');
  t.same(faultsOf(`cid,,,,${many},\n`, { mayCreateTalkgroups: true }), [
    'line 2, talkgroups: adds 65 talkgroups, at most 64',
  ]);
  t.same(faultsOf('cid,,,,,\n', { makesPasswords: false }), [
    'line 2, password: a new user needs one: add it, or use --codes or --passwords',
  ]);
  t.same(faultsOf('cid,,,,,short\n', { passwordLengthMin: 12 }), [
    'line 2, password: must have at least 12 characters',
  ]);
});
