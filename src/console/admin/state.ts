// The state of the administration tab: three tables, of which one is shown.
import { type Signal, signal } from '@preact/signals';
import type { Rest } from '../../client/rest.js';
import { createDevices, type Devices } from './devices.js';
import { createTalkgroups, type Talkgroups } from './talkgroups.js';
import { createUsers, type Users } from './users.js';

export type Section = 'talkgroups' | 'users' | 'devices';

export interface Admin {
  readonly section: Signal<Section>;
  readonly talkgroups: Talkgroups;
  readonly users: Users;
  readonly devices: Devices;
}

// Of one login: another account begins with empty tables.
const ofLogin = new WeakMap<Rest, Admin>();

export function adminOf(rest: Rest): Admin {
  const known = ofLogin.get(rest);
  if (known !== undefined) return known;
  const admin: Admin = {
    section: signal<Section>('talkgroups'),
    talkgroups: createTalkgroups(rest),
    users: createUsers(rest),
    devices: createDevices(rest),
  };
  ofLogin.set(rest, admin);
  return admin;
}
