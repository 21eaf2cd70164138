// Measures the time to the floor on a relay of its own, and says what makes such a run invalid.
import { ms } from '../figures/figures.js';
import { faultsOfGenerator } from '../figures/judge.js';
import type { FloorAccess, FloorAccessTask, Load } from '../generator/loads/floor-access.js';
import type { Bench } from '../scenario.js';
import type { Server, ServerOptions } from '../servers/start.js';
import { enlist } from '../servers/users.js';

export interface AccessRun extends FloorAccess {
  readonly name: string;
  readonly load: Load;
}

export function measureAccess(
  bench: Bench,
  { name, load, settings }: Pick<AccessRun, 'name' | 'load'> & Required<Pick<ServerOptions, 'settings'>>,
): Promise<AccessRun> {
  bench.progress(name);
  return bench.withRelay(settings, (relay) => measureAccessOn(bench, { name, load }, relay, [relay]));
}

/** The same on nodes that run. All have one database. */
export async function measureAccessOn(
  bench: Bench,
  { name, load }: Pick<AccessRun, 'name' | 'load'>,
  database: Parameters<typeof enlist>[0],
  nodes: readonly Server[],
): Promise<AccessRun> {
  const { talkgroups, members } = load;
  const users = await enlist(database, {
    users: talkgroups * members,
    talkgroups: Array.from({ length: talkgroups }, () => 'single' as const),
    memberOf: (user) => [Math.floor(user / members)],
  });
  const servers = nodes.map(({ url, dialect, pid }) => ({ url, dialect, pid }));
  const measured = await bench.generate<FloorAccessTask, FloorAccess>(
    new URL('../generator/loads/floor-access.js', import.meta.url),
    { servers, users, load },
  );
  return { name, load, ...measured };
}

/** A press that was denied or lost is in no percentile, so a single one makes them too good. */
export function faultsOfAccess(run: AccessRun): string[] {
  const { name, denied, deniedBy, unanswered, lost, late } = run;
  const codes = Object.entries(deniedBy).map(([code, count]) => ` (${code} ${count})`);
  const missing = denied + unanswered + lost;
  return [
    ...(missing > 0
      ? [
          `${name}: ${denied} bursts denied${codes.join('')}, ${unanswered} requests unanswered, ${lost} deliveries lost; presses left up to ${ms(late.maxMs)} late`,
        ]
      : []),
    ...faultsOfGenerator(run, name),
  ];
}
