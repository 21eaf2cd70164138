// The walls inside the code: who may import what, and what must not be written where. Each wall is tried on a made-up
// file that breaks it, so that a wall that stops nothing is found as well.
import t from 'tap';
import ts from 'typescript';
import {
  type Import,
  nodesOf,
  readSource,
  type SourceFile,
  sourceFiles,
} from './helpers/code/source-files.js';

interface Wall {
  readonly name: string;
  /** A path, and texts each of which would break it there. */
  readonly broken: readonly [path: string, ...texts: string[]];
  /** What in this file breaks it. */
  readonly breaches: (file: SourceFile) => string[];
}

/** Imports across a wall that are meant, each with its reason. */
const exceptions: Readonly<Record<string, string>> = {
  'src/config/values.ts -> src/keys/wrapping.ts': 'SECRETS_KEY takes the keys that it takes',
  'src/relay/compose.ts -> src/config/config.ts': 'composes the relay',
  'src/relay/threads/messages.ts -> src/config/config.ts': 'hands the settings to the thread',
  'src/docs/configuration.ts -> src/config/reference.ts': 'writes the page of the settings',
  'src/docs/metrics.ts -> src/metrics/families.ts': 'writes the page of the metrics',
  'src/docs/metrics.ts -> src/metrics/family.ts': 'writes the page of the metrics',
  'src/relay/threads/messages.ts -> src/auth/tokens.ts': 'hands the keys of the tokens to the thread',
  'src/relay/compose.ts -> src/auth/tokens.ts': 'composes the relay',
  'src/relay/threads/thread.ts -> src/auth/tokens.ts': 'composes the relay on its own thread',
  'src/relay/compose.ts -> src/gps/counts.ts':
    'composes the relay: GPS_UPDATE is stored like POST /devices/:id/gps',
  'src/relay/relay-side.ts -> src/gps/counts.ts': 'and its counts are shown with those of the relay',
  'src/relay/compose.ts -> src/emergencies/store.ts':
    'composes the relay: what it announces is stored where REST reads it',
  'src/relay/compose.ts -> src/directory/store.ts': 'composes the relay',
};

const src = sourceFiles('src');
const bench = sourceFiles('bench');
const test = sourceFiles('test');

/** The folders of src that serve the features. Every other one is a feature. */
const ground = new Set(['client', 'console', 'credentials', 'db', 'http', 'protocol', 'tls']);

const walls: Wall[] = [
  only('uWebSockets.js is imported by relay/websocket/engine.ts alone', {
    importing: ({ from }) => from === 'uWebSockets.js',
    allowed: (path) => path === 'src/relay/websocket/engine.ts',
    broken: ['src/relay/websocket/sockets.ts', `import type { WebSocket } from 'uWebSockets.js';`],
  }),
  only('fastify and its plugins are imported by http/, routes.ts and auth/guard.ts alone', {
    importing: ({ from }) => from === 'fastify' || from.startsWith('@fastify/'),
    allowed: (path) =>
      path.startsWith('src/http/') || /^src\/.+\/routes\.ts$/.test(path) || path === 'src/auth/guard.ts',
    broken: ['src/auth/tokens.ts', `import type { JWT } from '@fastify/jwt';`],
  }),
  only('TypeBox is imported by typebox.ts alone, which is built as one file', {
    importing: ({ from }) => /^typebox(\/|$)/.test(from),
    allowed: (path) => path === 'src/typebox.ts',
    broken: [
      'src/gps/schemas.ts',
      `import { Type } from 'typebox';`,
      `import { Compile } from 'typebox/compile';`,
    ],
  }),
  only('postgres is imported as a value by db/pool.ts alone', {
    importing: ({ from, isType }) => from === 'postgres' && !isType,
    allowed: (path) => path === 'src/db/pool.ts',
    broken: ['src/db/notices.ts', `import { type Sql } from 'postgres';`],
  }),
  only('the types of postgres stay in db/', {
    importing: ({ from }) => from === 'postgres',
    allowed: (path) => path.startsWith('src/db/'),
    broken: ['src/gps/store.ts', `type Row = import('postgres').Row;`],
  }),
  only('NATS is imported by nats.ts and nats-servers.ts of relay/nodes/carriers/ alone', {
    importing: ({ from }) => from === 'nats' || from.startsWith('@nats-io/'),
    allowed: (path) => /^src\/relay\/nodes\/carriers\/nats(-servers)?\.ts$/.test(path),
    broken: ['src/relay/nodes/bus.ts', `export * from '@nats-io/transport-node';`],
  }),
  {
    name: 'relay/nodes/ loads nothing of ours but itself, the protocol, TypeBox and histograms; of the rest it takes types',
    broken: [
      'src/relay/nodes/bus.ts',
      `import { createFanout } from '../delivery/fanout.js';`,
      `import { AppError } from '../../errors.js';`,
    ],
    breaches: (file) =>
      file.path.startsWith('src/relay/nodes/')
        ? importing(
            file,
            ({ from, isType }) =>
              !isType && /^src\/(?!relay\/nodes\/|protocol\/|typebox\.ts$|histogram\.ts$)/.test(from),
          )
        : [],
  },
  {
    name: 'NATS is loaded when it is used: relay/nodes/carriers/nats.ts is imported by import() alone',
    broken: ['src/relay/compose.ts', `import { openNats } from './nodes/carriers/nats.js';`],
    breaches: (file) => (inSrc(file) ? loadedAtOnce(file).filter((from) => /\/nats\.js$/.test(from)) : []),
  },
  {
    name: 'the environment is read by config/config.ts and listening.ts, handed on by local/, and that is all',
    broken: [
      'src/log.ts',
      'process.env.HOME',
      `process['env']`,
      'const { pid, env } = process;',
      `import 'node:process'`,
    ],
    breaches: (file) => (inSrc(file) && !environmentReaders.has(file.path) ? environmentReads(file) : []),
  },
  {
    name: 'the health check loads commander alone, for it runs every 10 s beside the audio',
    broken: ['src/cli.ts', `import { readConfig } from './config.js';`, `import './db/client.js';`],
    breaches: (file) => (healthCheck.has(file.path) ? loadedAtOnce(file) : []),
  },
  {
    name: 'SQL is written in store.ts and db/ alone',
    broken: ['src/relay/rights/rights.ts', 'sql`values (1)`', `'delete from users'`, '`select 1 from x`'],
    breaches: (file) =>
      inSrc(file) && !file.path.startsWith('src/db/') && !file.path.endsWith('/store.ts') ? sqlIn(file) : [],
  },
  {
    name: 'master secrets are read in keys/store.ts alone, made in talkgroups/store.ts, and only a backup reads whole rows',
    broken: [
      'src/talkgroups/store.ts',
      'sql`select id, master_secret from talkgroups`',
      'sql`select t.* from talkgroups t`',
      'sql`insert into talkgroups (name, master_secret) values (1, 2) returning master_secret`',
    ],
    breaches: (file) =>
      inSrc(file) && !isBackup(file) ? sqlIn(file).filter((text) => showsSecrets(file.path, text)) : [],
  },
  {
    name: 'a password hash is named in the SQL of auth/ alone',
    broken: ['src/directory/store.ts', 'sql`select id, password_hash from users`'],
    breaches: (file) =>
      inSrc(file) && !/^src\/auth\/(setting\/)?store\.ts$/.test(file.path)
        ? sqlIn(file).filter((text) => /password_hash/i.test(text))
        : [],
  },
  {
    name: 'SQL goes out as tagged templates alone, whose values are parameters; migrations send their own files, and a backup names the tables of the catalog',
    broken: ['src/gps/store.ts', `sql.unsafe('select 1')`, `sql('users')`, `sql.file('x.sql')`],
    breaches: (file) =>
      inSrc(file) && file.path !== 'src/db/migrate.ts' && !isBackup(file) ? builtSqlIn(file) : [],
  },
  {
    name: 'relay/ knows no HTTP',
    broken: [
      'src/relay/hub/relay.ts',
      `import { bodyOf } from '../../http/failures.js';`,
      `import 'node:http';`,
    ],
    breaches: (file) => (file.path.startsWith('src/relay/') ? importing(file, isHttp) : []),
  },
  {
    name: 'a relay goes by the clock that it is given; its port, its threads, the carriers and its composition by that of Node',
    broken: [
      'src/relay/hub/pulse.ts',
      'setInterval(f, 50)',
      'globalThis.setImmediate(f)',
      `import { setTimeout } from 'node:timers/promises';`,
      'performance.now()',
      'Date.now()',
      'new Date()',
    ],
    breaches: (file) =>
      file.path.startsWith('src/relay/') && !ownTime.test(file.path) ? clockReads(file) : [],
  },
  {
    name: 'a store knows its own folder, db/, the ids and types of the protocol, and so no HTTP and no other store',
    broken: [
      'src/gps/store.ts',
      `import '../devices/store.js';`,
      `import '../http/paths.js';`,
      `import './routes.js';`,
      `import { floorModes } from '../protocol/codes.js';`,
    ],
    breaches: (file) =>
      /^src\/[^/]+\/store\.ts$/.test(file.path)
        ? importing(file, (one) => {
            const ours = ['src/db/', `${folderOf(file.path)}/`].some((folder) => one.from.startsWith(folder));
            const known = /^(node:(?!https?$)|src\/ids\.ts$|src\/errors\.ts$)/.test(one.from);
            if (one.from.endsWith('/routes.ts')) return true;
            const isContract = one.from === 'src/typebox.ts' || one.from.startsWith('src/protocol/');
            return !ours && !known && !(isContract && one.isType);
          })
        : [],
  },
  {
    name: 'features do not import each other, and http/ no feature',
    broken: ['src/keys/routes.ts', `import { membersOf } from '../talkgroups/store.js';`],
    breaches: (file) => importing(file, ({ from, isType }) => isForeign({ path: file.path, from, isType })),
  },
  {
    name: 'client/ imports itself and the protocol, of whose messages only the types, so that a browser can load it',
    broken: [
      'src/client/radio.ts',
      `import { randomUUID } from 'node:crypto';`,
      `import { talkFile } from './terminal/terminal.js';`,
      `import { nodePrimitives } from '../protocol/node-primitives.js';`,
      `import { openHolderFile } from './encryption/holder-file.js';`,
      `import { Snapshot } from '../protocol/bodies.js';`,
      `import type { Talkgroup } from '../talkgroups/schemas.js';`,
    ],
    breaches: (file) =>
      isForBrowsers(file.path) || onlyNode.has(file.path)
        ? importing(file, ({ from, isType }) => {
            if (from === NODE_PRIMITIVES) return !onlyNode.has(file.path);
            if (from.startsWith('src/client/')) return onlyNode.has(from) && !onlyNode.has(file.path);
            if (from.startsWith('src/protocol/')) return !isType && !loadedByBrowsers.has(from);
            return !clientPackages(file.path).includes(from);
          })
        : [],
  },
  {
    name: 'console/ imports itself, the client, preact and the map, and of the protocol the types',
    broken: [
      'src/console/app/desk.ts',
      `import { randomUUID } from 'node:crypto';`,
      `import { createRadio } from '../../client/node.js';`,
      `import { errors } from '../../protocol/codes.js';`,
      `import type { Talkgroup } from '../../talkgroups/schemas.js';`,
      `import { buildConsole } from '../build.js';`,
    ],
    breaches: (file) => (isOfConsole(file.path) ? importing(file, isForeignToConsole) : []),
  },
  {
    name: 'what a browser loads of the protocol needs nothing else',
    broken: ['src/protocol/closes.ts', `import { Type } from '../typebox.js';`, `import './bodies.js';`],
    breaches: (file) =>
      loadedByBrowsers.has(file.path) ? importing(file, ({ from }) => !loadedByBrowsers.has(from)) : [],
  },
  {
    name: 'what a browser loads uses nothing that only Node has',
    broken: ['src/client/talking/talking.ts', `Buffer.from('x')`, 'process.nextTick(f)'],
    breaches: (file) => (isForBrowsers(file.path) || isOfConsole(file.path) ? nodeGlobalsIn(file) : []),
  },
  {
    name: 'bench/ speaks the wire: of src it imports the protocol and the client',
    broken: ['bench/radios/swarm.ts', `import { createRelay } from '../../src/relay/hub/relay.js';`],
    breaches: (file) => (file.path.startsWith('bench/') ? importing(file, isBehindTheWire) : []),
  },
  {
    name: 'test/relay speaks the wire: of src it imports the protocol, the client and ids',
    broken: ['test/relay/talk.test.ts', `import { createFanout } from '../../src/relay/fanout.js';`],
    breaches: (file) =>
      file.path.startsWith('test/relay/')
        ? importing(file, (one) => isBehindTheWire(one) && one.from !== 'src/ids.ts')
        : [],
  },
  {
    name: 'src imports nothing of test or bench',
    broken: ['src/main.ts', `import { eventually } from '../test/helpers/eventually.js';`],
    breaches: (file) => (inSrc(file) ? importing(file, ({ from }) => /^(test|bench)\//.test(from)) : []),
  },
  {
    name: 'no file or folder of src has a name that says nothing',
    broken: ['src/relay/session-utils.ts', 'whatever it holds'],
    breaches: ({ path }) =>
      inSrc({ path }) && /\b(utils?|helpers?|managers?|common)\b/.test(path) ? ['its name'] : [],
  },
  {
    name: 'nothing is left to do, skipped or run alone',
    broken: [
      'test/unit/x.test.ts',
      `// ${'TO'}DO: more`,
      `t.skip('x', f);`,
      `t.test('x', { skip: true }, f);`,
    ],
    breaches: leftOvers,
  },
];

for (const wall of walls) {
  t.test(wall.name, async (t) => {
    t.strictSame(
      [...src, ...bench, ...test].flatMap((file) =>
        wall.breaches(file).map((what) => `${file.path}: ${what}`),
      ),
      [],
    );
    const [path, ...texts] = wall.broken;
    for (const text of texts) t.not(wall.breaches(readSource(path, text)).length, 0, `found: ${text}`);
  });
}

t.test('the relay’s thread loads no HTTP, by whatever way', async (t) => {
  t.strictSame(waysToHttp('src/relay/threads/thread.ts', src), []);
  const made = [
    readSource('src/relay/threads/thread.ts', `import { createTokenVerifier } from '../../auth/tokens.js';`),
    readSource('src/auth/tokens.ts', `import jwt from '@fastify/jwt';`),
  ];
  t.strictSame(waysToHttp('src/relay/threads/thread.ts', made), ['src/auth/tokens.ts -> @fastify/jwt']);
});

t.test('every exception is still needed', async (t) => {
  const across = src.flatMap(({ path, imports }) => imports.map(({ from }) => `${path} -> ${from}`));
  t.strictSame(
    Object.keys(exceptions).filter((exception) => !across.includes(exception)),
    [],
  );
});

t.test('the files are found: an empty tree would keep every wall', async (t) => {
  const paths = new Set(src.map(({ path }) => path));
  for (const path of ['src/relay/websocket/engine.ts', 'src/db/client.ts', 'src/config/config.ts'])
    t.ok(paths.has(path), path);
  for (const files of [src, bench, test]) t.ok(files.some(({ imports }) => imports.length > 0));
  const engine = src.find(({ path }) => path === 'src/relay/websocket/engine.ts');
  t.match(engine?.imports, [{ from: 'uWebSockets.js' }]);
});

/** A wall around what one place may import. */
function only(
  name: string,
  options: {
    importing: (one: Import) => boolean;
    allowed: (path: string) => boolean;
    broken: Wall['broken'];
  },
): Wall {
  return {
    name,
    broken: options.broken,
    breaches: (file) =>
      inSrc(file) && !options.allowed(file.path) ? importing(file, options.importing) : [],
  };
}

function importing(file: SourceFile, isWrong: (one: Import) => boolean): string[] {
  return file.imports
    .filter((one) => isWrong(one) && !(`${file.path} -> ${one.from}` in exceptions))
    .map(({ from }) => `imports ${from}`);
}

function inSrc({ path }: { path: string }): boolean {
  return path.startsWith('src/');
}

function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/'));
}

const httpPackages = new Set(['node:http', 'node:https', 'node:http2', 'fastify']);

function isHttp({ from }: Import): boolean {
  return httpPackages.has(from) || from.startsWith('@fastify/') || from.startsWith('src/http/');
}

/**
 * A feature that is reached into from another folder. The files at the top of src compose and may, and so do commands and local/. What the relay
 * reads is typed where that is decided, so the types of directory/ are no breach. Nor are the types of the numbers that
 * metrics/ shows: each module counts its own.
 */
function isForeign({ path, from, isType }: Import & { path: string }): boolean {
  const [own, other] = [path, from].map((file) => /^src\/([^/]+)\//.exec(file)?.[1]);
  if (
    own === undefined ||
    own === 'commands' ||
    own === 'local' ||
    other === undefined ||
    own === other ||
    ground.has(other)
  )
    return false;
  if (own === 'relay' && other === 'directory') return !isType;
  if (own === 'metrics') return !isType;
  return true;
}

/** The client's parts that need Node or a package. The rest runs in a browser as it is. */
const onlyNode = new Set([
  'src/client/node.ts',
  'src/client/encryption/holder-file.ts',
  'src/client/terminal/crowd.ts',
  'src/client/terminal/echo.ts',
  'src/client/terminal/keys.ts',
  'src/client/terminal/opening.ts',
  'src/client/terminal/replay.ts',
  'src/client/terminal/terminal.ts',
]);

/** Of the protocol. All else there loads TypeBox. */
const loadedByBrowsers = new Set(
  ['frame', 'bundle', 'closes', 'encryption', 'sframe'].map((name) => `src/protocol/${name}.ts`),
);

/** The cryptography of Node, for the service and for radios in Node. */
const NODE_PRIMITIVES = 'src/protocol/node-primitives.ts';

function clientPackages(path: string): string[] {
  if (path === 'src/client/node.ts') return ['ws']; // browsers have their own WebSocket
  if (path === 'src/client/encryption/holder-file.ts') return ['node:fs', 'node:path'];
  if (path === 'src/client/encryption/holder.ts') return ['hpke']; // on WebCrypto, in browsers, too
  // WebCrypto is asynchronous, and a frame is sealed in the step in which it is sent.
  if (path === 'src/client/encryption/browser-primitives.ts') return ['@noble/ciphers', '@noble/hashes'];
  if (path === 'src/client/terminal/crowd.ts') return ['node:timers', 'node:url'];
  if (path === 'src/client/audio/ogg.ts') return ['mediabunny']; // runs in browsers, too
  if (path === 'src/client/sound/codec.ts') return ['libopus-wasm'];
  return [];
}

function isForBrowsers(path: string): boolean {
  return loadedByBrowsers.has(path) || (path.startsWith('src/client/') && !onlyNode.has(path));
}

/** The files that build the console run in Node. */
const builders = new Set(
  ['build', 'codec-file', 'draw-icons', 'licenses', 'shared-shell'].map((name) => `src/console/${name}.ts`),
);
const consolePackages = new Set([
  ...['preact', '@preact/signals', 'maplibre-gl', 'pmtiles', '@protomaps/basemaps', 'uqr'],
]);

function isOfConsole(path: string): boolean {
  return path.startsWith('src/console/') && !builders.has(path);
}

function isForeignToConsole({ from, isType }: Import): boolean {
  if (from.startsWith('src/console/')) return builders.has(from);
  if (from.startsWith('src/client/')) return onlyNode.has(from);
  if (from.startsWith('src/protocol/')) return !isType && !loadedByBrowsers.has(from);
  return !consolePackages.has(from);
}

function isBehindTheWire({ from }: Import): boolean {
  return /^src\/(?!client\/|protocol\/)/.test(from);
}

const healthCheck = new Set([
  'src/cli.ts',
  'src/commands/declared/accounts.ts',
  'src/commands/declared/radio.ts',
  'src/listening.ts',
]);

/** What the file imports before anything in it runs. */
function loadedAtOnce({ tree }: SourceFile): string[] {
  return tree.statements
    .filter(ts.isImportDeclaration)
    .map(({ moduleSpecifier }) => moduleSpecifier.getText().slice(1, -1))
    .filter((from) => !/^(commander$|node:|\.\/commands\/declared\/)/.test(from));
}

/** The second one for the health check, which must load in no time. The others hand it to other processes. */
const environmentReaders = new Set([
  'src/config/config.ts',
  'src/listening.ts',
  'src/local/cluster.ts',
  'src/local/sandbox.ts',
]);

function environmentReads(file: SourceFile): string[] {
  const imported = importing(file, ({ from }) => from === 'node:process' || from === 'process');
  const read = nodesOf(file.tree).filter((node) => {
    if (ts.isPropertyAccessExpression(node)) return isProcess(node.expression) && node.name.text === 'env';
    if (ts.isElementAccessExpression(node)) return isProcess(node.expression);
    if (!ts.isVariableDeclaration(node) || node.initializer === undefined) return false;
    // `const { env } = process`, and names that would hide it
    return isProcess(node.initializer) && /^[^{]|\benv\b|\.\.\./.test(node.name.getText());
  });
  return [...imported, ...read.map((node) => node.getText())];
}

/** Files of the relay that may use the clock of Node. */
const ownTime = /^src\/relay\/(clock\.ts$|compose\.ts$|threads\/|websocket\/|.*\/carriers\/)/;

function clockReads(file: SourceFile): string[] {
  const imported = importing(file, ({ from }) => /^(node:)?(timers|perf_hooks)(\/|$)/.test(from));
  const read = nodesOf(file.tree).filter((node) => {
    if (ts.isIdentifier(node)) return /^(set|clear)(Timeout|Interval|Immediate)$/.test(node.text);
    if (ts.isNewExpression(node))
      return node.expression.getText() === 'Date' && (node.arguments ?? []).length === 0;
    return ts.isPropertyAccessExpression(node) && /^(Date|performance)\.now$/.test(node.getText());
  });
  return [...imported, ...read.map((node) => node.getText())];
}

function isProcess(node: ts.Node): boolean {
  return ts.isIdentifier(node) && node.text === 'process';
}

function sqlIn(file: SourceFile): string[] {
  const found = nodesOf(file.tree).filter((node) => {
    if (ts.isTaggedTemplateExpression(node)) return /^sql\b/.test(node.tag.getText());
    if (ts.isStringLiteralLike(node) || ts.isTemplateExpression(node)) return STATEMENT.test(node.getText());
    return false;
  });
  return found.map((node) => node.getText());
}

const isBackup = ({ path }: SourceFile) => path.startsWith('src/db/backup/');

function showsSecrets(path: string, text: string): boolean {
  if (/\b(select|returning|\w+\.)\s*\*/i.test(text)) return true;
  if (path === 'src/keys/store.ts') return false;
  return /master_secret/i.test(path === 'src/talkgroups/store.ts' ? text.replace(INSERTED, '') : text);
}

/** The columns of an insert: they are written. */
const INSERTED = /insert into talkgroups \([^)]*\)/i;

function builtSqlIn(file: SourceFile): string[] {
  const found = nodesOf(file.tree).filter((node) => {
    if (!ts.isCallExpression(node)) return false;
    const { expression } = node;
    if (ts.isPropertyAccessExpression(expression)) {
      return /sql$/.test(expression.expression.getText()) && /^(unsafe|file)$/.test(expression.name.text);
    }
    return ts.isIdentifier(expression) && expression.text === 'sql';
  });
  return found.map((node) => node.getText());
}

const STATEMENT = /^.\s*(select .+ from|insert into|update \S+ set|delete from|with \w+ as \()\b/is;

const nodeGlobals = new Set([
  'Buffer',
  'process',
  'global',
  'require',
  '__dirname',
  '__filename',
  'setImmediate',
]);

function nodeGlobalsIn(file: SourceFile): string[] {
  return nodesOf(file.tree).flatMap((node) => {
    if (!ts.isIdentifier(node) || !nodeGlobals.has(node.text)) return [];
    const { parent } = node;
    const isMember = ts.isPropertyAccessExpression(parent) || ts.isMethodDeclaration(parent);
    return isMember && parent.name === node ? [] : [node.text];
  });
}

function leftOvers(file: SourceFile): string[] {
  // Written so that this line is none.
  const notes = file.text.match(/\b(TO[D]O|FIX[M]E|XX[X]|HA[C]K)\b/g) ?? [];
  const calls = nodesOf(file.tree).filter((node) => {
    if (ts.isPropertyAssignment(node)) {
      return (
        /^(skip|todo|only)$/.test(node.name.getText()) && /^(true|['"`])/.test(node.initializer.getText())
      );
    }
    return ts.isCallExpression(node) && /^(t|test)\.(skip|todo|only)$/.test(node.expression.getText());
  });
  return [...notes, ...calls.map((node) => node.getText())];
}

/** Every import of HTTP, as `file -> package`, in what is loaded when `start` is. */
function waysToHttp(start: string, files: readonly SourceFile[]): string[] {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const loaded = new Set([start]);
  const ways: string[] = [];
  for (const path of loaded) {
    for (const one of byPath.get(path)?.imports ?? []) {
      if (one.isType) continue;
      if (isHttp(one)) ways.push(`${path} -> ${one.from}`);
      else loaded.add(one.from); // a Set goes on to what is added meanwhile
    }
  }
  return ways;
}
