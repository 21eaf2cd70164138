// docs/operations.md and the files of docs/deploy: what they name exists, and the programs they are for accept them.
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { parse } from 'yaml';
import { isAct } from '../../src/audit/schemas.js';
import { warnOfClearText } from '../../src/config/clear-text.js';
import { readConfig } from '../../src/config/config.js';
import { settings } from '../../src/config/environment.js';
import { ACT_NAMES } from '../../src/db/acts.js';
import { clusterFamilies } from '../../src/metrics/cluster-families.js';
import { expose } from '../../src/metrics/exposition.js';
import { families } from '../../src/metrics/families.js';
import type { Snapshot } from '../../src/metrics/snapshot.js';
import { readExposition } from '../helpers/http/exposition.js';
import { carryOut, deployed, page, steps } from '../helpers/pages/operations-page.js';
import { run, unless } from '../helpers/programs.js';
import { createMemoryNetwork } from '../helpers/relay/memory-bus.js';
import { relayOn } from '../helpers/relay/relays.js';
import { service, serviceProcess } from '../helpers/service/service.js';

const CLI = fileURLToPath(new URL('../../src/cli.js', import.meta.url));

/** Some metrics are about certificates. */
const TLS = {
  TLS_CERT_FILE: 'test/helpers/network/tls-cert.pem',
  TLS_KEY_FILE: 'test/helpers/network/tls-key.pem',
};

interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: Readonly<Record<string, string>>;
}

interface Panel {
  readonly title: string;
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
}

const rules = (parse(deployed('prometheus-rules.yml')) as { groups: { rules: Alert[] }[] }).groups.flatMap(
  (group) => group.rules,
);
const { panels } = JSON.parse(deployed('grafana.json')) as { panels: Panel[] };

/** Every query of the two files, with the text that quotes its labels. */
const queries = [
  ...rules.map(({ alert, expr, annotations }) => ({
    where: alert,
    query: expr,
    shown: Object.values(annotations).join(' '),
  })),
  ...panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr, legendFormat }) => ({ where: title, query: expr, shown: legendFormat })),
  ),
];

/** Names of series: a histogram has no series of its own name. */
const seriesNames = new Set(
  families.flatMap(({ name, type }) =>
    type === 'histogram' ? ['bucket', 'sum', 'count'].map((part) => `${name}_${part}`) : [name],
  ),
);
const metricsIn = (text: string) => [...text.matchAll(/\b(?:talkgroup|process)_\w+/g)].map(([name]) => name);

const anchorOf = (title: string) =>
  title
    .toLowerCase()
    .replaceAll(/[^\w\s-]/g, '')
    .replaceAll(' ', '-');

/** Variables of other programs and of the files beside the page. */
const OTHERS = [
  ...['NODE_ENV', 'NODE_EXTRA_CA_CERTS', 'UWS_HTTP_MAX_HEADERS_SIZE', 'RADIO_SITE'],
  ...['RADIO_REST', 'RADIO_RELAY', 'NATS_PASSWORD', 'NATS_NAMES'],
];

t.test('the page is about the service as it is', async (t) => {
  for (const [, path = ''] of page.matchAll(/\]\((deploy\/[^)#]*|\.\.\/[^)#]*)/g))
    t.ok(existsSync(join('docs', path)), path);
  const anchors = [...page.matchAll(/^#+ (.+)$/gm)].map(([, title = '']) => anchorOf(title));
  for (const [, anchor = ''] of page.matchAll(/\]\(#([^)]*)\)/g))
    t.ok(anchors.includes(anchor), `#${anchor}`);

  const known = new Set(families.map(({ name }) => name));
  for (const name of metricsIn(page)) t.ok(known.has(name) || isAct(name) || name === 'talkgroup_id', name);
  const named = [...page.matchAll(/^\| `(Radio\w+)` \|/gm)].map(([, name]) => name);
  t.same(
    named,
    rules.map(({ alert }) => alert),
    'every alert, in its order',
  );
  const [, acts = ''] = page.split('### Audit log');
  for (const act of ACT_NAMES) t.ok(acts.includes(`\`${act}\``), act);

  for (const [, name = ''] of page.matchAll(/`([A-Z]+_[A-Z_]+)\b/g))
    t.ok(name in settings || OTHERS.includes(name), `setting ${name}`);
});

t.test('the commands of an operator’s day exist, with their options', async (t) => {
  const [, day = ''] = /## An operator's day\n(.*?)\n## /s.exec(page) ?? [];
  const commands = [...day.matchAll(/`talkgroup-radio ([^`]+)`/g)].map(([, text = '']) => text.split(' '));
  t.ok(commands.length > 10);
  await Promise.all(
    commands.map(async (words) => {
      const command = words.slice(
        0,
        words.findIndex((word) => /^[A-Z-]/.test(word)),
      );
      const { code, output } = await run(process.execPath, [CLI, ...command, '--help']);
      t.equal(code, 0);
      t.match(output, `Usage: talkgroup-radio ${command.join(' ')} `, 'that command, not the one above it');
      for (const option of words.filter((word) => word.startsWith('--'))) t.match(output, `  ${option} `);
    }),
  );
});

t.test('alerts and dashboard ask for metrics and labels that the service has', async (t) => {
  const { metrics, person, call } = await serviceProcess(t);
  const radio = await (await person('ann')).radio(); // some labels come with the first of a kind
  radio.socket.close(1000);
  await radio.closes();
  await call('GET', '/talkgroups', null);
  const secure = await service(t, TLS);
  const texts = await Promise.all(
    [metrics, secure.metrics].map(async (address) => (await fetch(address)).text()),
  );
  // Those of several nodes, without a NATS server.
  const cluster = relayOn(t, createMemoryNetwork(), { number: 1 }).figures();
  texts.push(expose(clusterFamilies, { relay: { cluster } } as unknown as Snapshot));
  const samples = texts.flatMap((text) => [...readExposition(text).series.keys()]);
  /** `name{label="value"}` and `name{label}`. */
  const labelled = new Set<string>();
  const labels = new Set(['instance', 'job', 'le']);
  for (const key of samples) {
    const [name = '', rest = ''] = key.split(/\{(.*)\}$/s);
    for (const [, label = '', value = ''] of rest.matchAll(/(\w+)="([^"]*)"/g)) {
      labelled.add(`${name}{${label}="${value}"}`);
      labels.add(label);
    }
  }
  t.ok(queries.length > 30, 'the files are read');
  for (const { where, query, shown } of queries) {
    const names = metricsIn(query);
    t.ok(names.length > 0 || /^up\{/.test(query), where);
    for (const name of names) t.ok(seriesNames.has(name), `${where}: ${name}`);
    for (const [, name = '', matchers = ''] of query.matchAll(/(\w+)\{([^}]*)\}/g)) {
      for (const [, label = '', value = ''] of matchers.matchAll(/(\w+)="([^"]*)"/g))
        if (label !== 'job')
          t.ok(labelled.has(`${name}{${label}="${value}"}`), `${where}: ${label}=${value}`);
    }
    const grouped = [...query.matchAll(/\b(?:by|on) \(([^)]*)\)/g)].flatMap(([, list = '']) =>
      list.split(', '),
    );
    const quoted = [...shown.matchAll(/\{\{ ?(?:\$labels\.)?(\w+) ?\}\}/g)].map(([, label = '']) => label);
    for (const label of [...grouped, ...quoted]) t.ok(labels.has(label), `${where}: label ${label}`);
  }
});

t.test('Prometheus accepts every query', { skip: unless('promtool') }, async (t) => {
  const folder = t.testdir({
    'dashboard.json': JSON.stringify({
      groups: [
        {
          name: 'dashboard',
          rules: queries.map(({ query }, index) => ({
            record: `query_${index}`,
            expr: withVariables(query),
          })),
        },
      ],
    }),
    'test.yml': ALERT_TESTS.replace('RULES', join(process.cwd(), 'docs/deploy/prometheus-rules.yml')),
  });
  for (const file of ['docs/deploy/prometheus-rules.yml', join(folder, 'dashboard.json')]) {
    const { code, output } = await run('promtool', ['check', 'rules', file]);
    t.equal(code, 0, output);
  }
  const { code, output } = await run('promtool', ['test', 'rules', join(folder, 'test.yml')]);
  t.equal(code, 0, output);
});

/** As Grafana fills them in. */
const withVariables = (query: string) =>
  query.replaceAll('$__rate_interval', '5m').replaceAll('$instance', '.*');

/** The alert of a split, for this node. */
const split = (instance: string, job: string) =>
  `- exp_labels: { severity: critical, instance: ${instance}, job: ${job} }
            exp_annotations: { summary: '${instance} does not reach all other nodes: its radios hear only a part of the service' }`;

/** Those whose parts have different labels: they must still meet. */
const ALERT_TESTS = `
rule_files: ['RULES']
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
      - { series: 'talkgroup_not_ready{instance="a", job="talkgroup-radio", reason="database"}', values: '1x20' }
      - { series: 'talkgroup_relay_receivers_lagging{instance="a", job="talkgroup-radio"}', values: '20x20' }
      - { series: 'talkgroup_relay_sessions{instance="a", job="talkgroup-radio", state="live"}', values: '300x20' }
      - { series: 'talkgroup_relay_receivers_lagging{instance="b", job="talkgroup-radio"}', values: '20x20' }
      - { series: 'talkgroup_relay_sessions{instance="b", job="talkgroup-radio", state="live"}', values: '3000x20' }
      - { series: 'talkgroup_relay_connections{instance="a", job="talkgroup-radio"}', values: '90x20' }
      - { series: 'talkgroup_relay_connections_max{instance="a", job="talkgroup-radio"}', values: '100x20' }
      # The route between c and d is away for longer than they miss each other. f has lost g, which has ended.
      - { series: 'talkgroup_cluster_peers{instance="c", job="talkgroup-radio"}', values: '1x20' }
      - { series: 'talkgroup_cluster_peers{instance="d", job="talkgroup-radio"}', values: '1x20' }
      - { series: 'talkgroup_cluster_peers{instance="e", job="talkgroup-radio"}', values: '2x20' }
      - { series: 'talkgroup_cluster_reach{instance="c", job="talkgroup-radio", state="whole"}', values: '1 0 1x18' }
      - { series: 'talkgroup_cluster_reach{instance="d", job="talkgroup-radio", state="whole"}', values: '1 0 0x18' }
      - { series: 'talkgroup_cluster_reach{instance="e", job="talkgroup-radio", state="whole"}', values: '1x20' }
      - { series: 'talkgroup_cluster_relays{instance="c", job="talkgroup-radio"}', values: '1x20' }
      - { series: 'talkgroup_cluster_relays{instance="d", job="talkgroup-radio"}', values: '1x20' }
      - { series: 'talkgroup_cluster_relays{instance="e", job="talkgroup-radio"}', values: '1x20' }
      - { series: 'talkgroup_cluster_peers{instance="f", job="of-two"}', values: '0x20' }
      - { series: 'talkgroup_cluster_relays{instance="f", job="of-two"}', values: '1x20' }
      # h and i have two relay threads each, and h has lost one thread of i.
      - { series: 'talkgroup_cluster_peers{instance="h", job="of-threads"}', values: '2x20' }
      - { series: 'talkgroup_cluster_relays{instance="h", job="of-threads"}', values: '2x20' }
      - { series: 'talkgroup_cluster_reach{instance="h", job="of-threads", state="whole"}', values: '1x20' }
      - { series: 'talkgroup_cluster_peers{instance="i", job="of-threads"}', values: '3x20' }
      - { series: 'talkgroup_cluster_relays{instance="i", job="of-threads"}', values: '2x20' }
      - { series: 'talkgroup_cluster_reach{instance="i", job="of-threads", state="whole"}', values: '1x20' }
      # Without NATS the two threads of j reach each other, and no other node.
      - { series: 'talkgroup_cluster_peers{instance="j", job="of-ports"}', values: '1x20' }
      - { series: 'talkgroup_cluster_reach{instance="j", job="of-ports", state="whole"}', values: '1x20' }
      - { series: 'talkgroup_cluster_peers{instance="k", job="of-ports"}', values: '1x20' }
      - { series: 'talkgroup_cluster_reach{instance="k", job="of-ports", state="whole"}', values: '1x20' }
      - { series: 'talkgroup_cluster_reach{instance="f", job="of-two", state="whole"}', values: '1 1 1 1 1 1 1 1 0x12' }
    alert_rule_test:
      - eval_time: 8m
        alertname: RadioNodesSplit
        exp_alerts:
          ${split('c', 'talkgroup-radio')}
          ${split('d', 'talkgroup-radio')}
          ${split('h', 'of-threads')}
      - eval_time: 10m
        alertname: RadioNodesSplit
        exp_alerts:
          ${split('c', 'talkgroup-radio')}
          ${split('d', 'talkgroup-radio')}
          ${split('h', 'of-threads')}
          ${split('f', 'of-two')}
      - eval_time: 10m
        alertname: RadioNotReady
        exp_alerts:
          - exp_labels: { severity: critical, instance: a, job: talkgroup-radio, reason: database }
            exp_annotations: { summary: 'a does not serve: database' }
      - eval_time: 10m
        alertname: RadioReceiversLagging
        exp_alerts:
          - exp_labels: { severity: warning, instance: a, job: talkgroup-radio }
            exp_annotations: { summary: '20 receivers of a lag, more than 5 % of the radios' }
      - eval_time: 10m
        alertname: RadioConnectionsNearLimit
        exp_alerts:
          - exp_labels: { severity: warning, instance: a, job: talkgroup-radio }
            exp_annotations: { summary: 'a uses more than 80 % of its connections or open files' }
`;

t.test('systemd accepts the units', { skip: unless('systemd-analyze') }, async (t) => {
  const unit = deployed('talkgroup-radio.service');
  t.match(unit, 'ExecStart=/usr/bin/node ');
  const units = {
    'talkgroup-radio.service': unit.replace('ExecStart=/usr/bin/node ', `ExecStart=${process.execPath} `),
    'talkgroup-radio-backup.service': deployed('talkgroup-radio-backup.service'),
    'talkgroup-radio-backup.timer': deployed('talkgroup-radio-backup.timer'),
  };
  const folder = t.testdir(units);
  const paths = Object.keys(units).map((name) => join(folder, name));
  const { code, output } = await run('systemd-analyze', ['verify', '--man=no', ...paths]);
  t.equal(code, 0, output);
  t.notMatch(output, /talkgroup-radio[\w-]*\.\w+:\d+/, 'nor does it ignore a line');
});

t.test('the nightly backup runs as the service does, and 13 others stay', async (t) => {
  const [unit, backup] = [deployed('talkgroup-radio.service'), deployed('talkgroup-radio-backup.service')];
  for (const name of [
    'User',
    'Group',
    'WorkingDirectory',
    'Environment=DATA_DIR',
    'EnvironmentFile',
    'UMask',
  ]) {
    const line = new RegExp(`^${name}=.*$`, 'm');
    t.equal(line.exec(backup)?.[0], line.exec(unit)?.[0], name);
  }
  const names = Array.from({ length: 16 }, (_, at) => `${String(at).padStart(2, '0')}.backup`);
  const folder = t.testdir(Object.fromEntries(names.map((name) => [name, ''])));
  for (const [at, name] of names.entries()) utimesSync(join(folder, name), at, at);
  writeFileSync(join(folder, '99.backup.part'), '');
  const [, script = ''] = /^ExecStartPre=\/bin\/sh -c '(.*)'$/m.exec(backup) ?? [];
  const { code, output } = await run('/bin/sh', [
    '-c',
    script.replaceAll('/var/lib/talkgroup-radio-backups', folder),
  ]);
  t.equal(code, 0, output);
  t.strictSame(readdirSync(folder).sort(), names.slice(3));
});

t.test('a command runs as the unit does: user, directory, data, settings and Node', async (t) => {
  const unit = deployed('talkgroup-radio.service');
  const settingOf = (name: string) => new RegExp(`^${name}=(.*)$`, 'm').exec(unit)?.[1] ?? 'none';
  const bin = t.testdir({ 'systemd-run': '#!/bin/sh\nfor word; do echo "$word"; done\nexit 3\n' });
  chmodSync(join(bin, 'systemd-run'), 0o755);
  const wrapper = 'docs/deploy/talkgroup-radio';
  const { code, output } = await run(wrapper, ['user', 'add', 'ann b'], {
    env: { PATH: `${bin}:${process.env.PATH}`, RADIO_TOKEN: 'x' },
  });
  t.equal(code, 3, 'its exit code is that of the command');
  t.strictSame(output.trimEnd().split('\n'), [
    ...['--quiet', '--collect', '--wait', '--pty', '--pipe', `--uid=${settingOf('User')}`],
    ...['--setenv=RADIO_TOKEN', `--property=LimitNOFILE=${settingOf('LimitNOFILE')}`],
    `--working-directory=${settingOf('WorkingDirectory')}`,
    `--setenv=DATA_DIR=${settingOf('Environment=DATA_DIR')}`,
    `--property=EnvironmentFile=${settingOf('EnvironmentFile')}`,
    ...[settingOf('ExecStart').split(' ')[0], 'dist/src/cli.js', 'user', 'add', 'ann b'],
  ]);
});

t.test('the unit lets the service end by itself', async (t) => {
  const unit = deployed('talkgroup-radio.service');
  const { DRAIN_MS } = readConfig({});
  const [, stopS] = /^TimeoutStopSec=(\d+)$/m.exec(unit) ?? [];
  t.ok(Number(stopS) * 1000 > DRAIN_MS + 15_000);
  t.match(unit, /^KillMode=mixed$/m);
  for (const [, name = ''] of unit.matchAll(/^Environment=(\w+)=/gm))
    t.ok(name === 'NODE_ENV' || name in settings, name);
});

interface Compose {
  readonly services: Readonly<Record<'radio' | 'db' | 'proxy', ComposeService>>;
  readonly volumes: Readonly<Record<string, unknown>>;
  readonly networks: { readonly inside: { readonly ipam: { readonly config: { subnet: string }[] } } };
}

interface ComposeService {
  readonly build?: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
  readonly stop_grace_period?: string;
  readonly security_opt?: readonly string[];
  readonly cap_drop?: readonly string[];
  readonly read_only?: boolean;
  readonly tmpfs?: readonly string[];
}

t.test('compose.yaml fits the image, the settings and the files beside it', async (t) => {
  const compose: Compose = parse(deployed('compose.yaml'));
  const { radio, db, proxy } = compose.services;
  t.equal(radio.build, '../..');
  for (const volume of [...(db.volumes ?? []), ...(proxy.volumes ?? [])]) {
    const [source = ''] = volume.split(':');
    t.ok(
      source.startsWith('.') ? existsSync(join('docs/deploy', source)) : source in compose.volumes,
      volume,
    );
  }
  t.equal(radio.environment.TRUST_PROXY, compose.networks.inside.ipam.config[0]?.subnet);

  const caddyfile = deployed('Caddyfile');
  for (const name of Object.keys(proxy.environment)) t.match(caddyfile, `{$${name}:`);
  const image = readFileSync('Dockerfile', 'utf8');
  for (const [, port = ''] of Object.values(proxy.environment).map((value) => value.split(':')))
    if (/^\d+$/.test(port)) t.match(image, new RegExp(`^EXPOSE .*\\b${port}\\b`, 'm'));
  const graceS = Number.parseInt(radio.stop_grace_period ?? '', 10);
  t.ok(graceS * 1000 >= readConfig({}).DRAIN_MS + 5000);

  const written = await writtenEnvironment(t);
  const filled = (text: string) =>
    text.replaceAll(/\$\{(\w+)(?::\?[^}]*)?\}/g, (_, name: string) => written.get(name) ?? '');
  for (const [name, value] of Object.entries(radio.environment)) {
    t.ok(name in settings, name);
    t.notMatch(filled(value), /^$|\$/, `${name} is filled in`);
  }
  const filledIn = Object.entries(radio.environment).map(([name, value]) => [name, filled(value)]);
  const config = readConfig(Object.fromEntries(filledIn));
  warnOfClearText({ ...config, HOST: '0.0.0.0' }, { warn: () => t.fail('it warns of the network inside') });
  t.equal(config.SECRETS_KEY.length, 1);
  t.equal(
    config.DATABASE_URL,
    `postgres://talkgroup:${filled(db.environment.POSTGRES_PASSWORD ?? '')}@db:5432/talkgroup?sslmode=disable`,
  );
});

t.test(
  'compose.cluster.yaml has three alike nodes and nats-servers, and else what compose.yaml has',
  async (t) => {
    const single = parse(deployed('compose.yaml')) as { services: Record<string, ComposeService> };
    const { services, networks } = parse(deployed('compose.cluster.yaml'), { merge: true }) as {
      readonly services: Readonly<Record<string, ComposeService>>;
      readonly networks: Compose['networks'];
    };
    const numbered = (name: string) => [1, 2, 3].map((number) => `${name}-${number}`);
    t.strictSame(
      Object.keys(services).sort(),
      [...numbered('radio'), ...numbered('nats'), 'db', 'proxy'].sort(),
    );
    t.strictSame(services.db, single.services.db);
    for (const part of ['security_opt', 'cap_drop', 'read_only', 'tmpfs'] as const) {
      t.ok(single.services.radio?.[part]);
      t.strictSame(services['radio-1']?.[part], single.services.radio?.[part]);
    }
    const { environment, ...proxy } = services.proxy ?? { environment: {} };
    const { environment: _, ...singleProxy } = single.services.proxy ?? { environment: {} };
    t.strictSame({ ...proxy, depends_on: ['radio'] }, singleProxy);
    t.equal(environment.RADIO_REST, 'radio-1:3000 radio-2:3000 radio-3:3000');
    t.equal(environment.RADIO_RELAY, 'radio-1:3001 radio-2:3001 radio-3:3001');

    const written = await writtenEnvironment(t, 'nats-secrets');
    const filled = (text: string) =>
      text.replaceAll(/\$\{(\w+)(?::\?[^}]*)?\}/g, (_, name: string) => written.get(name) ?? '');
    const configuration = deployed('nats.conf');
    for (const name of numbered('nats')) {
      t.strictSame(services[name], services['nats-1']);
      t.match(
        filled(services[name]?.environment.NATS_PASSWORD ?? ''),
        /^p[0-9a-f]{48}$/,
        'no number to NATS',
      );
      t.match(configuration, `"nats://${name}:6222"`);
    }
    const mounted = (name: string) => (services[name]?.volumes ?? []).map((volume) => volume.split(':'));
    for (const [, file = ''] of configuration.matchAll(/_file: "([^"]+)"/g))
      t.ok(
        mounted('nats-1').some(([, inside]) => inside === file),
        file,
      );

    for (const name of numbered('radio')) {
      const { NODE_EXTRA_CA_CERTS = '', ...settingsOf } = services[name]?.environment ?? {};
      t.ok(mounted(name).some(([, inside]) => inside === NODE_EXTRA_CA_CERTS));
      t.strictSame(settingsOf, services['radio-1']?.environment && without(services['radio-1'].environment));
      const { NATS_URL = '', TRUST_PROXY, ...others } = settingsOf;
      t.equal(TRUST_PROXY, networks.inside.ipam.config[0]?.subnet);
      t.strictSame(others, without(single.services.radio?.environment ?? {}, 'TRUST_PROXY'));
      const config = readConfig(
        Object.fromEntries(Object.entries(settingsOf).map(([key, value]) => [key, filled(value)])),
      );
      t.equal(config.NATS_URL?.split(',').length, 3);
      t.match(steps.get('cluster-settings'), NATS_URL.replace(/\$\{NATS_PASSWORD[^}]*\}/, '$NATS_PASSWORD'));
      const graceS = Number.parseInt(services[name]?.stop_grace_period ?? '', 10);
      t.ok(graceS * 1000 >= config.DRAIN_MS + 5000);
    }
  },
);

/** The environment but for the certificate and one more. */
function without(
  { NODE_EXTRA_CA_CERTS, ...environment }: Readonly<Record<string, string>>,
  name = '',
): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(environment).filter(([one]) => one !== name));
}

/** What the steps of the page write for compose. */
async function writtenEnvironment(t: Test, ...further: string[]): Promise<ReadonlyMap<string, string>> {
  const folder = t.testdir({});
  mkdirSync(join(folder, 'docs/deploy'), { recursive: true });
  for (const step of ['compose-environment', ...further]) await carryOut(step, {}, folder);
  const lines = readFileSync(join(folder, 'docs/deploy/.env'), 'utf8').trimEnd().split('\n');
  return new Map(lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]));
}

t.test('SIGHUP ends the service like SIGTERM, with exit code 0', async (t) => {
  const s = await serviceProcess(t);
  const radio = await (await s.person('ann')).radio();
  s.signal('SIGHUP');
  t.same(await radio.closes(), { code: 1012, reason: 'restart' });
  t.equal(await s.exit(), 0);
});
