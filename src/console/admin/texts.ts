// The texts of the administration tab.
import { isolated } from '../app/isolated.js';
import type { Device, Encryption, FloorMode, MemberKeys, Talkgroup } from './rows.js';

const devices = (count: number) => (count === 1 ? '1 device' : `${count} devices`);

const seconds = (count: number) => (count === 1 ? '1 second' : `${count} seconds`);

const floorModes: Readonly<Record<FloorMode, string>> = {
  open: 'open: several talkers at once',
  single: 'single: one talker',
  broadcast: 'broadcast: administrators talk',
};

const encryptions: Readonly<Record<Encryption, string>> = {
  off: 'off: speech is clear',
  allowed: 'allowed: each talker chooses',
  required: 'required: clear speech is rejected',
};

/** The day and the minute, in the time of the browser. */
function dateText(time: string): string {
  return new Date(time).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' });
}

export const texts = {
  sections: 'Administration',
  talkgroups: 'Talkgroups',
  users: 'Users',
  devices: 'Devices',
  onlyAdministrators: 'Only administrators see this tab.',

  reload: 'Reload',
  more: 'Show more',
  reading: 'Loading …',
  whole: (count: number) => (count === 1 ? '1 entry' : `${count} entries`),
  part: (count: number) => `The first ${count} entries`,
  nothing: 'There is no entry.',
  save: 'Save',
  cancel: 'Cancel',
  created: (time: string) => `created ${dateText(time)}`,

  search: 'Search by the start of the name',
  administrator: 'administrator',
  user: 'user',
  noDevice: 'no device',
  device: (name: string) => `device ${name}`,
  showDevice: 'Show device',
  unknownDevice: 'The device does not exist any more.',
  deviceFacts: ({ name, serial, site, active }: Device) =>
    `Device ${isolated(name)}, serial ${isolated(serial)}, site ${isolated(site)}, ${active ? 'enabled' : 'disabled'}`,
  createUser: 'Create user',
  newUsername: 'Name of the new user',
  newPassword: 'Password of the new user',
  newSerial: 'Serial of the device, if there is one',
  createdUser: (name: string) =>
    `The user ${isolated(name)} exists now. Add it to talkgroups with Manage members.`,
  revoke: 'Revoke tokens',
  revoked: 'The tokens are revoked. The user must log in again.',
  reallyRevoke: (name: string, isOwn: boolean) => ({
    title: `Revoke the tokens of ${isolated(name)}?`,
    consequence: isOwn
      ? 'This is your own account. You are logged out here and on every other device, and must log in again.'
      : 'The user is logged out on every device at once, and must log in again.',
    confirm: isOwn ? 'Revoke my tokens' : 'Revoke tokens',
  }),

  createTalkgroup: 'Create talkgroup',
  newName: 'Name of the new talkgroup',
  floorMode: 'Floor mode',
  floorModes,
  createdTalkgroup: (name: string) => `The talkgroup ${isolated(name)} exists now. It has no members yet.`,
  number: (number: number) => `number ${number}`,
  counter: (counter: number) => `key counter ${counter}`,
  members: (count: number) => (count === 1 ? '1 member' : `${count} members`),
  limit: ({ max_talk_ms }: Talkgroup) =>
    max_talk_ms === 0 ? 'no talk limit' : `talk limit ${seconds(max_talk_ms / 1000)}`,
  rename: 'Rename',
  renameTo: 'New name',
  settings: 'Floor mode and limit',
  talkLimit: 'Talk limit in seconds, 0 for none',
  rotate: 'Rotate key',
  rotated: (counter: number) => `The key is rotated. The counter is ${counter} now.`,
  encryption: 'Encryption',
  encryptions,
  clearEmergency: 'Clear emergencies',
  clearYes: 'heard: with or without a key',
  clearNo: 'rejected: without a key nothing is heard',
  protection: ({ encryption, clear_emergency }: Talkgroup) =>
    encryption === 'required'
      ? `encryption required, keys held by the service, clear emergencies ${clear_emergency ? 'heard' : 'rejected'}`
      : `encryption ${encryption}`,
  requiredHint:
    'When encryption becomes required, the present members may have keys. Members who join later need your permission under Manage members.',
  noSecretsKey:
    'The service must encrypt its own secrets first. The operator sets SECRETS_KEY and starts the service again.',
  notEnforced:
    'Not every node of the service enforces encryption. The operator brings all nodes to this version, then try again.',
  notProtected: (reason: string) => `Its encryption is not set. ${reason}`,
  mayHaveKeys: ({ may_have_keys, holders }: MemberKeys) =>
    `${may_have_keys ? 'may have keys' : 'may not have keys'}, ${devices(holders)} with keys`,
  allowKeys: (name: string) => `Allow keys for ${name}`,
  takeKeys: (name: string) => `Stop ${name} from hearing encrypted speech`,
  keysAllowed: (name: string) => `${isolated(name)} may have the present key and later ones.`,
  keysTaken: (name: string) => `${isolated(name)} may have no keys, and the keys have changed.`,
  holders: 'Browsers and radios with keys',
  holdersOf: (name: string) => `Browsers and radios with keys of ${name}`,
  holderHint:
    'A key holder is a browser or another device that opens keys. Accept one only when its owner reads out the same digits.',
  holderState: (isAccepted: boolean) => (isAccepted ? 'accepted' : 'waits to be accepted'),
  acceptHolder: (name: string) => `Accept ${name}`,
  deleteHolder: (name: string) => `Delete ${name}`,
  holderAccepted: (name: string) => `${isolated(name)} is accepted, and gets its keys now.`,
  holderDeleted: (name: string) =>
    `${isolated(name)} is deleted. The keys of talkgroups that require encryption have changed.`,
  remove: 'Delete',
  reallyDelete: ({ name, members }: Talkgroup) =>
    `Delete the talkgroup ${isolated(name)}? Its ${members === 1 ? 'membership ends' : `${members} memberships end`}. This cannot be undone.`,
  deleteNow: 'Delete now',
  keep: 'Keep',
  manageMembers: 'Manage members',
  membersOf: (name: string) => `Members of ${name}`,
  removeMember: (name: string) => `Remove ${name}`,
  reallyRemove: (name: string, talkgroup: string) => ({
    title: `Remove ${isolated(name)} from ${isolated(talkgroup)}?`,
    consequence: 'The user hears nothing more of the talkgroup, and talks there no more.',
    confirm: 'Remove',
  }),
  removed: (name: string) => `${isolated(name)} is removed.`,
  findUser: 'Add a user: start of the name',
  addMember: (name: string) => `Add ${name}`,
  added: (name: string) => `${isolated(name)} is a member now.`,
  noUser: 'No user has a name that begins so.',
  done: 'Done',

  newSite: 'Site',
  facts: ({ serial, site }: Device) => `serial ${isolated(serial)}, site ${isolated(site)}`,
  enabled: 'enabled',
  disabled: 'disabled: its users cannot log in',
  enable: 'Enable',
  disable: 'Disable',
  saved: 'Saved.',

  unconfirmed: 'The change is stored. Connected radios may follow later.',
  unknownOutcome: 'The service did not learn whether the change happened. Reload before you try again.',
  noAnswer: 'The service did not answer. Check the connection, then try again.',
  wait: (count: number) => `Wait ${seconds(count)}, then try again.`,
  busy: 'The service has too much to do.',
  unavailable: 'The service cannot do this now.',
  loggedOut: 'You are logged out. Log in again.',
  forbidden: 'Your account is not that of an administrator.',
  missing: 'This does not exist any more. Reload the list.',
  notAccepted: (reason: string) => `The service rejected it: ${reason}.`,
  failed: (status: number, reason: string) => `The service answered ${status}: ${reason}.`,
};
