// The state of the administration tab: three tables, of which one is shown.
import { type Signal, signal } from '@preact/signals';
import type { Rest } from '../../client/rest.js';
import type { Account } from '../app/session.js';
import { createDevices, type Devices } from './devices.js';
import { createTalkgroups, type Talkgroups } from './talkgroups.js';
import { createUsers, type Users } from './users.js';

export type Section = 'talkgroups' | 'users' | 'devices';

export interface Admin {
  /** false: a dispatcher, who changes members and tokens alone. */
  readonly isAdmin: boolean;
  readonly section: Signal<Section>;
  readonly talkgroups: Talkgroups;
  readonly users: Users;
  readonly devices: Devices;
}

// Of one login: another account begins with empty tables.
const ofLogin = new WeakMap<Rest, Admin>();

export function adminOf({ rest, role }: Pick<Account, 'rest' | 'role'>): Admin {
  const known = ofLogin.get(rest);
  if (known !== undefined) return known;
  const isAdmin = role === 'admin';
  const admin: Admin = {
    isAdmin,
    section: signal<Section>('talkgroups'),
    talkgroups: createTalkgroups(rest, isAdmin),
    users: createUsers(rest),
    devices: createDevices(rest),
  };
  ofLogin.set(rest, admin);
  return admin;
}
