// Rows as a relay reads them from the database: a talkgroup in which nothing happens, and a user without a device.
import type { Account, TalkgroupRow } from '../../../src/directory/records.js';
import type { TalkgroupId, UserId } from '../../../src/ids.js';

/** As a membership names it, which serves for the talkgroup itself as well. */
export type MemberTalkgroupRow = TalkgroupRow & { readonly site: string; readonly may_have_keys: boolean };

export const talkgroupRow = (over: Partial<MemberTalkgroupRow> = {}): MemberTalkgroupRow => ({
  id: 'fire' as TalkgroupId,
  number: 1,
  name: 'fire',
  site: 'depot',
  rotation_counter: 0,
  floor_mode: 'open',
  max_talk_ms: 0,
  revision: 0,
  encryption: 'allowed',
  clear_emergency: true,
  recording_days: 0,
  epochs: null,
  may_have_keys: false,
  emergencies: [],
  ...over,
});

/** The user of that name. The id is the same text. */
export const accountRow = (name: string, over: Partial<Account> = {}): Account => ({
  id: name as UserId,
  username: name,
  role: 'user',
  is_dispatcher: false,
  valid_from: 0,
  device_id: null,
  device_active: true,
  holders_waiting: 0,
  memberships: [],
  ...over,
});
