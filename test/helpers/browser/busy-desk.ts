// A desk of 30 talkgroups with two talkers and two alarms, as the pictures of the console show it.
import type { Browser } from 'playwright-core';
import type { Test } from 'tap';
import { service } from '../service/service.js';
import { type Desk, type DeskOptions, desk } from './desk.js';

export const busyNames: readonly string[] = [
  ...['All call', 'Airport', 'Cleaning', 'Crew A', 'Crew B', 'Depot', 'Events', 'Fire 1', 'Fire 2', 'Gate 1'],
  ...[
    'Gate 2',
    'Harbour North',
    'Harbour South',
    'Line control',
    'Medical',
    'Night shift',
    'Parking',
    'Pilots',
  ],
  ...[
    'Rescue',
    'Route 3',
    'Route 24',
    'Route 25',
    'Security',
    'Signals',
    'Spare 1',
    'Stewards',
    'Supervisors',
  ],
  ...['Towing', 'Track works', 'Workshop'],
];

export type BusyDesk = Desk & {
  /** Each talks in its talkgroup until the test ends. */
  talkers: readonly string[];
  service: Awaited<ReturnType<typeof service>>;
};

/**
 * `dispatch1` is logged in and has selected Fire 1 and Fire 2. `ben02` talks in Fire 1. `georg07` has raised an emergency in
 * Harbour North and talks there, that of `fatma06` in Workshop is acknowledged.
 */
export async function busyDesk(t: Test, browser: Browser, options: DeskOptions = {}): Promise<BusyDesk> {
  const s = await service(t);
  const dispatch1 = await s.person('dispatch1', { role: 'admin' });
  const names = ['ben02', 'georg07', 'fatma06', 'tina19', 'mona13'];
  const people = await Promise.all(names.map((name, index) => s.person(name, { serial: `SN-${index}` })));
  const [ben, georg, fatma] = people;
  if (ben === undefined || georg === undefined || fatma === undefined) throw new Error('three people');
  const groups = new Map<string, Awaited<ReturnType<typeof s.talkgroup>>>();
  for (const name of busyNames) groups.set(name, await s.talkgroup(name, dispatch1, ...people));
  const group = (name: string) => {
    const found = groups.get(name);
    if (found === undefined) throw new Error(`no talkgroup ${name}`);
    return found;
  };
  const opened = await desk(t, browser, s, dispatch1, options);
  const [benRadio, georgRadio, fatmaRadio] = [await ben.radio(), await georg.radio(), await fatma.radio()];
  const raise = (radio: typeof benRadio, name: string, lat: number, lng: number) =>
    radio.asks({ type: 'EMERGENCY_RAISE', talkgroup_id: group(name).id, lat, lng });
  await raise(fatmaRadio, 'Workshop', 53.96, 10.87);
  await opened.page.getByRole('button', { name: 'Acknowledge' }).click();
  await opened.page.getByRole('button', { name: 'Hold to clear' }).waitFor();
  await raise(georgRadio, 'Harbour North', 54.29, 11.75);
  const speaking = setInterval(() => {
    benRadio.speaks(group('Fire 1').number, 'word');
    georgRadio.speaks(group('Harbour North').number, 'word');
  }, 200);
  t.teardown(() => clearInterval(speaking));
  benRadio.speaks(group('Fire 1').number, 'word', { start: true });
  georgRadio.speaks(group('Harbour North').number, 'word', { start: true });
  for (const name of ['Fire 1', 'Fire 2']) await opened.button('Select', name).click();
  return { ...opened, talkers: ['ben02', 'georg07'], service: s };
}
