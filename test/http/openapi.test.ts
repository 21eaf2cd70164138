// The reference of the REST API: complete, the one the service serves, and good enough to generate a client from.
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';
import { compared } from '../../src/docs/pages.js';
import { openApiPage, restApiPage } from '../../src/docs/rest-api.js';
import { refusalCodes } from '../../src/errors.js';
import { badRequestAdvice, textOf } from '../../src/http/advice.js';
import type { Operation, Response, Schema } from '../../src/http/openapi-document.js';
import { reference, textsOf } from '../helpers/http/documented.js';
import { exchange } from '../helpers/http/raw.js';
import { type Service, service } from '../helpers/http/rest.js';
import { fencesOf, readPage } from '../helpers/pages/pages.js';

t.setTimeout(300_000);

/** The project, from dist/test/http. */
const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const run = promisify(execFile);
const operations = Object.entries(reference.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    name: `${method.toUpperCase()} ${path}`,
    ...operation,
  })),
);

t.test('docs/openapi.json is the document that the service serves, at both its addresses', async (t) => {
  const s = await service(t);
  for (const address of ['/openapi.json', '/docs/json']) {
    const { status, body } = await s.nobody.get(address);
    t.equal(status, 200);
    t.strictSame(body, reference, address);
  }
  t.notMatch(JSON.stringify(reference), /refine|x-shown-as|master_secret|password_hash/);
});

for (const page of [openApiPage, restApiPage]) {
  t.test(`${page.path} is as make docs writes it`, async (t) => {
    const { present, wanted } = await compared(page);
    t.equal(present, wanted, 'run make docs');
  });
}

t.test('the reference lists every route with its callers, and nothing else', async (t) => {
  const s = await service(t);
  // Without the pages and their files.
  const routes = s.server.routes.filter(
    ({ url, method }) => method !== 'HEAD' && !/docs|openapi|^\/(console(\/\*?)?)?$/.test(url),
  );
  for (const { method, url, access } of routes) {
    const operation = reference.paths[url.replaceAll(/:(\w+)/g, '{$1}')]?.[method.toLowerCase()];
    t.equal(operation?.['x-access'], access, `${method} ${url}`);
    t.strictSame(operation?.security, access === 'public' ? [] : [{ token: [] }], `${method} ${url}`);
    t.match(
      operation?.description,
      /^\w.+\n\nAccess: (everyone|every user|dispatchers and administrators|administrators)\b/,
    );
  }
  t.equal(operations.length, routes.length);
});

t.test('every operation has an id, a summary, and examples of what is sent and answered', async (t) => {
  const ids = operations.map(({ operationId }) => operationId);
  t.equal(new Set(ids).size, ids.length);
  for (const { name, operationId, summary, parameters = [], requestBody, responses } of operations) {
    t.match(operationId, /^[a-z][A-Za-z]+$/, name);
    t.match(summary, /^[A-Z].*[^.]$/, name);
    t.ok(
      parameters.every(({ description = '' }) => description.endsWith('.')),
      `${name}: parameters`,
    );
    const bodies = [requestBody, responses[200] as Response].filter((one) => one !== undefined); // success is no reference
    for (const { content } of bodies)
      if (!('application/octet-stream' in content))
        t.type(content['application/json']?.example, 'object', name);
  }
});

t.test('every operation lists its own statuses, with the texts of the catalogue', async (t) => {
  const texts = new Map(refusalCodes.map((code) => [code, textOf(code)]));
  for (const { name, responses } of operations) {
    const statuses = Object.keys(responses);
    t.ok(
      statuses.every((status) => /^\d{3}$/.test(status)),
      `${name}: ${statuses}`,
    );
    for (const status of statuses.filter((one) => one !== '200')) {
      const { headers = {}, content } = refusalOf(responses[status]);
      for (const [code, { value }] of Object.entries(content['application/json']?.examples ?? {})) {
        if (status === '400' && code in badRequestAdvice) continue; // tried over the wire below
        const known = texts.get(code as (typeof refusalCodes)[number]); // or it is undefined
        t.equal(String(known?.status), status, `${name} ${code}`);
        const varies = code === 'not_ready';
        t.equal(value.error === known?.text, !varies, `${name} ${code}`);
      }
      t.equal('Retry-After' in headers, status === '429' || status === '503', `${name} ${status}`);
      t.ok('Error-Code' in headers, `${name} ${status}`);
      t.equal('WWW-Authenticate' in headers, status === '401', `${name} ${status}`);
    }
  }
});

t.test('every operation answers a wrong request with a 400 that the reference lists for it', async (t) => {
  const s = await service(t, { settings: { PASSWORD_MIN_LENGTH: '12' } });
  for (const { name, responses, requestBody, parameters = [] } of operations) {
    const listed = textsOf(responses[400]);
    const answered: string[] = [];
    const sends = async (query: string, init?: RequestInit) => {
      const { status, body } = await sendTo(s, name, { query, init });
      if (status === 400) answered.push((body as { error: string }).error);
    };
    const json = (body: string | Uint8Array<ArrayBuffer>) =>
      sends('', { headers: { 'content-type': 'application/json' }, body });

    answered.push(await withoutHost(s, name));
    if (!name.startsWith('GET')) {
      await json('{');
      await json(new Uint8Array([0x22, 0xff, 0x22]));
    }
    if (requestBody !== undefined) {
      const { example, schema } = requestBody.content['application/json'];
      await json('{}');
      for (const field of fieldsOf(schema)) {
        await json(JSON.stringify({ ...(example as object), [field]: [] }));
        if (/^(password|newPassword)$/.test(field))
          await json(JSON.stringify({ ...(example as object), [field]: 'x' }));
      }
    }
    for (const { name: parameter } of parameters.filter((one) => one.in === 'query'))
      await sends(`?${parameter}=`);
    if (parameters.some(({ in: place, required }) => place === 'query' && required)) await sends('');

    // A database in UTF-8 has every character that the service accepts: db/client.test.ts tries others.
    const unstorable: string = badRequestAdvice.unstorable_text.text;
    const missing = listed.filter((text) => text !== unstorable && !answered.includes(text));
    t.strictSame(missing, [], `${name}: all that is listed is answered`);
    for (const text of answered) {
      const isField = /^(body|querystring)\/\w+ must /.test(text);
      const part = text.split('/', 1)[0] ?? '';
      // A query with one of two required parameters lacks the other one. The reference shows one that lacks both.
      const [lacking] = /^querystring must have required properties /.exec(text) ?? [];
      const start = isField ? `${part}/` : (lacking ?? text);
      const isListed = listed.some((one) => (start === text ? one === text : one.startsWith(start)));
      t.ok(isListed, `${name}: ${text}`);
    }
  }
});

function fieldsOf({ $ref = '', properties = {} }: Schema): string[] {
  return Object.keys(reference.components.schemas[$ref.split('/').at(-1) ?? '']?.properties ?? properties);
}

/** The answer to an administrator, with ids that do not exist. */
function sendTo(s: Service, name: string, { query, init }: { query: string; init: RequestInit | undefined }) {
  const [method = '', path = ''] = name.split(' ');
  return s.admin.send(method, path.replaceAll(/\{\w+\}/g, randomUUID()) + query, init);
}

/** The text that a request without `Host` gets. */
async function withoutHost({ port }: Service, name: string): Promise<string> {
  const { answers } = await exchange(port, [`${name} HTTP/1.1\r\nContent-Length: 0\r\n\r\n`], 1);
  return JSON.parse(answers[0]?.body ?? '').error;
}

function refusalOf(response: Operation['responses'][string] | undefined) {
  const name = response !== undefined && '$ref' in response ? response.$ref.split('/').at(-1) : '';
  const found = reference.components.responses[name ?? ''];
  if (found === undefined) throw new Error(`no response ${name}`);
  return found as Response & { readonly headers?: object };
}

t.test(
  'the guide names codes of the catalogue, and its program stops at those that may have changed something',
  async (t) => {
    const guide = readPage('docs/rest-api.md');
    const isCode = (name: string) => refusalCodes.some((code) => code === name);
    const [, advice = ''] = /## When to try again\n([\s\S]*?)\n## /.exec(guide) ?? [];
    const named = [...advice.matchAll(/\b(?:After|On \d+) `(\w+)`/g)].map(([, name = '']) => name);
    t.ok(named.length >= 3);
    for (const name of named) t.ok(isCode(name), name);

    const [, codes = ''] = /maybeDone = \[(.+)\]\.includes\(code\)/.exec(guide) ?? [];
    t.strictSame(codes, "'outcome_unknown', 'relay_unconfirmed'");
    for (const [, name = ''] of codes.matchAll(/'(\w+)'/g)) t.ok(isCode(name), name);
  },
);

t.test('the version of the document is that of the package', async (t) => {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  t.equal(reference.info.version, version);
});

t.test('redocly lint has no error and no warning', async (t) => {
  const env = {
    ...process.env,
    REDOCLY_TELEMETRY: 'off',
    REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
    CI: 'true',
  };
  const bin = join(ROOT, 'node_modules/.bin/redocly');
  // `holds` is the id of no recording.
  const rules = ['--skip-rule=no-ambiguous-paths'];
  const words = ['lint', '--format=json', ...rules, 'docs/openapi.json'];
  const { stdout } = await run(bin, words, { cwd: ROOT, env });
  const { totals, problems } = JSON.parse(stdout);
  t.match(totals, { errors: 0, warnings: 0 }, JSON.stringify(problems));
});

t.test('the program of the page registers a radio, joins, and reports a position', async (t) => {
  const s = await service(t);
  const talkgroup = await s.talkgroup();
  const [program = ''] = codeIn('js');
  const file = join(t.testdir({ 'radio.mjs': at(s.baseUrl, program) }), 'radio.mjs');
  const { stdout } = await run(process.execPath, [file]);
  t.match(stdout, /gps: \{[^}]*lat: 52\.52,\s+lng: 13\.405,\s+alt: 34/);
  t.strictSame(await membersOf(s, talkgroup), ['dora']);
});

t.test('the commands of the page generate a client, which compiles and does the same', async (t) => {
  const s = await service(t);
  const talkgroup = await s.talkgroup();
  const folder = await newApp(t);
  const [generate = '', build = ''] = codeIn('sh');
  const [program = ''] = codeIn('ts');
  const [settings = ''] = codeIn('json');
  const files = {
    'tsconfig.json': settings,
    'client.ts': at(s.baseUrl, program),
    'wrong.ts': program.replace('lng: 13.405', 'lon: 13.405'), // shows that faults are found
  };
  await inShell(folder, at(s.baseUrl, withoutInstall(generate)));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  // With the strictest types a reader may have set.
  const strictest = 'npx tsc --exactOptionalPropertyTypes --noUncheckedIndexedAccess > faults || true';
  const { stdout } = await inShell(folder, build.replace('npx tsc', strictest));
  t.equal(stdout, 'emil is in fire brigade\n');
  t.strictSame(await membersOf(s, talkgroup), ['emil']);
  const [fix] = await s.sql<{ lat: number }>((sql) => sql`select lat from gps_fixes`);
  t.equal(fix?.lat, 52.52);

  const faults = readFileSync(join(folder, 'faults'), 'utf8');
  t.match(faults, /^wrong\.ts.*\blon\b/, 'a wrong field does not compile');
  t.notMatch(faults, /^client\.ts/m, 'the program compiles');
});

/** An empty folder as on the reader's machine, with the packages of this project. */
async function newApp(t: Test): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'openapi-client-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  return folder;
}

/** The commands without the line that installs packages: a test fetches none. They must be there already. */
function withoutInstall(commands: string): string {
  const [line = '', packages = ''] = /^npm install (.+)\n/m.exec(commands) ?? [];
  for (const name of packages.split(' ')) {
    const path = join(ROOT, 'node_modules', name.replace(/(?<=.)@\d+$/, ''), 'package.json');
    if (!existsSync(path)) throw new Error(`${name} is not installed`);
  }
  return commands.replace(line, '');
}

function inShell(cwd: string, commands: string) {
  const env = { ...process.env, npm_config_offline: 'true', npm_config_update_notifier: 'false' };
  return run('sh', ['-ec', commands], { cwd, env });
}

/** The fenced blocks of docs/rest-api.md in that language. */
function codeIn(language: string): string[] {
  return fencesOf(readPage('docs/rest-api.md'))
    .filter((fence) => fence.language === language)
    .map(({ text }) => text);
}

function at(baseUrl: string, program: string): string {
  const there = program.replace('http://127.0.0.1:3000', baseUrl);
  if (there === program) throw new Error('the program names no server');
  return there;
}

async function membersOf(s: Awaited<ReturnType<typeof service>>, talkgroup: string): Promise<string[]> {
  const { body } = await s.admin.get(`/talkgroups/${talkgroup}/members`);
  return (body as { members: { user: { username: string } }[] }).members.map(({ user }) => user.username);
}
