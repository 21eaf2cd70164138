// The texts of the administration tab.
import { isolated } from '../app/isolated.js';
import type { Device, Diagnosis, Encryption, FloorMode, MemberKeys, Talkgroup, User } from './rows.js';

const devices = (count: number) => (count === 1 ? '1 device' : `${count} devices`);

const seconds = (count: number) => (count === 1 ? '1 second' : `${count} seconds`);

const floorModes: Readonly<Record<FloorMode, string>> = {
  open: 'open: several talkers at once',
  single: 'single: one talker',
  broadcast: 'broadcast: dispatchers and admins',
};

const encryptions: Readonly<Record<Encryption, string>> = {
  off: 'off: speech is clear',
  allowed: 'allowed: each talker chooses',
  required: 'required: clear speech is rejected',
};

/** The day and the time, as the browser is. `clock`: writes the time of day, as the settings say. */
function dateText(time: string, clock: (time: Date) => string): string {
  const date = new Date(time);
  return `${date.toLocaleDateString(undefined, { dateStyle: 'medium' })}, ${clock(date)}`;
}

export const texts = {
  sections: 'Administration',
  talkgroups: 'Talkgroups',
  users: 'Users',
  devices: 'Devices',
  onlyDispatchers: 'Only dispatchers and administrators see this tab.',

  find: { talkgroups: 'Find a talkgroup', users: 'Find a user', devices: 'Find a device' },
  findHint: { talkgroups: 'Name', users: 'Name or device', devices: 'Name, serial or site' },
  count: {
    talkgroups: (count: number) => (count === 1 ? '1 talkgroup' : `${count} talkgroups`),
    users: (count: number) => (count === 1 ? '1 user' : `${count} users`),
    devices: (count: number) => (count === 1 ? '1 device' : `${count} devices`),
  },
  firstOf: (words: string) => `first ${words}`,
  actionsFor: (name: string) => `Actions for ${name}`,
  edit: (value: string, column: string) => `${value}, edit ${column}`,
  editHint: 'Press Enter or double-click to edit.',
  valueOf: (column: string, name: string) => `${column} of ${name}`,
  said: (name: string, words: string) => `${isolated(name)}: ${words}`,
  close: 'Close',
  columns: {
    ...{ number: 'Number', name: 'Name', mode: 'Mode', limit: 'Talk limit', encryption: 'Encryption' },
    ...{ members: 'Members', role: 'Role', device: 'Device', created: 'Created', serial: 'Serial' },
    ...{ site: 'Site', state: 'State', actions: 'Actions' },
  },
  day: (time: string) => new Date(time).toLocaleDateString(undefined, { dateStyle: 'medium' }),
  date: dateText,

  reload: 'Reload',
  /** As `2 new, show`. */
  waiting: (added: number, removed: number) =>
    `${[added > 0 && `${added} new`, removed > 0 && `${removed} deleted`].filter(Boolean).join(', ')}, show`,
  more: 'Show more',
  reading: 'Loading …',
  whole: (count: number) => (count === 1 ? '1 entry' : `${count} entries`),
  part: (count: number) => `The first ${count} entries`,
  nothing: 'There is no entry.',
  save: 'Save',
  created: (time: string, clock: (time: Date) => string) => `created ${dateText(time, clock)}`,

  roleOf: ({ role, dispatcher }: Pick<User, 'role' | 'dispatcher'>) =>
    role === 'admin' ? 'Admin' : dispatcher ? 'Dispatcher' : 'User',
  card: 'Show',
  noDevice: 'no device',
  cardOf: (name: string) => `Card of ${name}`,
  newUser: 'New user',
  deviceFacts: ({ name, serial, site, active }: Omit<Device, 'created_at'>) =>
    `${isolated(name)}, serial ${isolated(serial)}, site ${isolated(site)}, ${active ? 'enabled' : 'disabled'}`,
  position: 'Position',
  positionAt: (time: string | null, clock: (time: Date) => string) =>
    time === null ? 'none is recorded' : dateText(time, clock),
  tokens: 'Tokens',
  tokensFrom: (time: string | null, clock: (time: Date) => string) =>
    time === null ? 'none was revoked' : `revoked when issued before ${dateText(time, clock)}`,
  groups: (total: number) => (total === 1 ? '1 talkgroup' : `${total} talkgroups`),
  withoutKeys: 'hears nothing: no permission for keys',
  /** Why the user hears nothing in any talkgroup. */
  hearsNothing: {
    device: 'Hears nothing: the device is disabled.',
    talkgroups: 'Hears nothing: the user is in no talkgroup.',
    keys: 'Hears nothing: the user may have the keys of no talkgroup.',
  },
  diagnosis: 'A radio hears nothing',
  inTalkgroup: 'In the talkgroup',
  anyTalkgroup: 'any',
  diagnose: 'Find out why',
  answered: ({ asked, answered }: Diagnosis['relays']) =>
    asked === 1 && answered === 1 ? 'The node answered.' : `${answered} of ${asked} nodes answered.`,
  findings: 'Causes',
  sessions: 'Sessions',
  session: (
    { session, since, detached_since, address, client, round_trip_ms: ms }: Diagnosis['sessions'][number],
    clock: (time: Date) => string,
  ) =>
    [
      `Session ${session}`,
      detached_since === null
        ? `since ${dateText(since, clock)}`
        : `without a connection since ${dateText(detached_since, clock)}`,
      ...(address === null ? [] : [address]),
      ...(client === null ? [] : [isolated(client)]),
      ...(ms === null ? [] : [`ping ${ms} ms`]),
    ].join(', '),
  setDevice: 'Device…',
  newDevice: 'Serial of the device',
  deviceHint: 'An unknown serial creates a device. An empty field takes the device away.',
  reallyMoveDevice: (name: string) => ({
    title: `Change the device of ${isolated(name)}?`,
    consequence: 'The user is logged out on every device at once, and must log in again.',
    confirm: 'Change the device',
  }),
  saveDevice: 'Save the device',
  deviceSetRevoked: 'Saved. The tokens are revoked, and the user must log in again.',
  setPassword: 'Password…',
  passwordOf: 'New password',
  keepTokens: 'The radios of the user stay logged in',
  savePassword: 'Set the password',
  admitDispatcher: 'Make a dispatcher…',
  reallyAdmit: (name: string) => ({
    title: `Make ${isolated(name)} a dispatcher?`,
    consequence:
      'A dispatcher sees all users and talkgroups, moves members, logs users out, answers all emergencies and may interrupt other talkers. It counts at once.',
    confirm: 'Make a dispatcher',
  }),
  dismissDispatcher: 'Make a plain user…',
  reallyDismiss: (name: string) => ({
    title: `Make ${isolated(name)} a plain user?`,
    consequence:
      'The rights of a dispatcher end. All radios and browsers of this user are logged out at once.',
    confirm: 'Make a plain user',
  }),
  admitted: 'Dispatcher now',
  dismissed: 'Plain user now, logged out',
  removeUser: 'Delete…',
  reallyDeleteUser: (name: string) => ({
    title: `Delete ${isolated(name)}?`,
    consequence:
      'The account goes, with its memberships and keys. The radios are logged out at once. The device stays. This cannot be undone.',
    confirm: 'Delete',
  }),
  createUser: 'Create user',
  newUsername: 'Name of the new user',
  newPassword: 'Password of the new user',
  newSerial: 'Serial of the device, if there is one',
  createdUser: (name: string) =>
    `The user ${isolated(name)} exists now. Add it to talkgroups under Manage members of a talkgroup.`,
  revoke: 'Revoke tokens…',
  revoked: 'The tokens are revoked. The user must log in again.',
  reallyRevoke: (name: string, isOwn: boolean) => ({
    title: `Revoke the tokens of ${isolated(name)}?`,
    consequence: isOwn
      ? 'This is your own account. You are logged out here and on every other device, and must log in again.'
      : 'The user is logged out on every device at once, and must log in again.',
    confirm: isOwn ? 'Revoke my tokens' : 'Revoke tokens',
  }),

  newTalkgroup: 'New talkgroup',
  createTalkgroup: 'Create talkgroup',
  newName: 'Name of the new talkgroup',
  floorMode: 'Floor mode',
  floorModes,
  createdTalkgroup: (name: string) => `The talkgroup ${isolated(name)} exists now. It has no members yet.`,
  limit: ({ max_talk_ms }: Talkgroup) => (max_talk_ms === 0 ? 'none' : `${max_talk_ms / 1000} s`),
  rename: 'Rename',
  changeSite: 'Change site',
  talkLimit: 'In seconds, 0 for none.',
  rotate: 'Rotate key…',
  reallyRotate: (name: string) => ({
    title: `Rotate the key of ${isolated(name)}?`,
    consequence: 'The key counter goes up by one. Radios that encrypt change to the new key at once.',
    confirm: 'Rotate key',
  }),
  rotated: (counter: number) => `The key is rotated. The counter is ${counter} now.`,
  encryption: 'Encryption',
  encryptionOf: (name: string) => `Encryption of ${name}`,
  changeEncryption: 'Encryption…',
  encryptions,
  clearEmergency: 'Emergency without a key',
  clearYes: 'heard',
  clearNo: 'not heard',
  protection: ({ encryption, clear_emergency }: Talkgroup) =>
    encryption === 'required' && !clear_emergency ? 'required, emergencies too' : encryption,
  requiredHint:
    'When encryption becomes required, the present members may have keys. Members who join later need your permission under Manage members.',
  recording: 'Recording',
  recordingOf: (name: string) => `Recording of ${name}`,
  changeRecording: 'Recording…',
  recordingHints: [
    'Days, from 0 to 3650. 0: not recorded.',
    'Every member sees that this talkgroup is recorded.',
    'Stored recordings keep their time.',
  ],
  noSecretsKey:
    'The service must encrypt its own secrets first. The operator sets SECRETS_KEY and starts the service again.',
  notEnforced:
    'Not every node of the service can enforce encryption now. Try again when the operator has all nodes running.',
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
  reallyDeleteHolder: (name: string) => ({
    title: `Delete ${isolated(name)}?`,
    consequence:
      'It opens no more keys, and the keys of talkgroups that require encryption change. Its user can register it again.',
    confirm: 'Delete',
  }),
  holderAccepted: (name: string) => `${isolated(name)} is accepted, and gets its keys now.`,
  holderDeleted: (name: string) =>
    `${isolated(name)} is deleted. The keys of talkgroups that require encryption have changed.`,
  remove: 'Delete…',
  deleted: 'It is deleted.',
  reallyDelete: ({ name, members }: Talkgroup) => ({
    title: `Delete ${isolated(name)}?`,
    consequence: `Its ${members === 1 ? 'membership ends' : `${members} memberships end`}, and its radios hear nothing more of it. This cannot be undone.`,
    confirm: 'Delete',
  }),
  reallyForget: (name: string) => ({
    title: `Delete ${isolated(name)} with the keys of its recordings?`,
    consequence:
      'It has encrypted recordings. Without the talkgroup they cannot be opened any more. This cannot be undone.',
    confirm: 'Delete all the same',
  }),
  wouldForget: 'It is not deleted. Its encrypted recordings would be lost.',
  manageMembers: 'Manage members',
  membersOf: (name: string) => `Members of ${name}`,
  allMembers: 'All members',
  removeMember: 'Take out…',
  reallyTakeOut: (name: string, talkgroup: string) => ({
    title: `Take ${isolated(name)} out of ${isolated(talkgroup)}?`,
    consequence: 'The user hears nothing more of the talkgroup, and talks there no more.',
    confirm: 'Take out',
  }),
  takenOut: (name: string) => `${isolated(name)} is taken out.`,
  findUser: 'Add a user: start of the name',
  addMember: (name: string) => `Add ${name}`,
  added: (name: string) => `${isolated(name)} is a member now.`,
  noUser: 'No user has a name that begins so.',

  enabled: 'enabled',
  disabled: 'disabled',
  enable: 'Enable',
  disable: 'Disable…',
  reallyDisable: (name: string) => ({
    title: `Disable ${isolated(name)}?`,
    consequence: 'Its users are logged out at once, and cannot log in until you enable it.',
    confirm: 'Disable',
  }),
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
