-- Encrypted speech: how a talkgroup uses it, who may have its keys, the installations that hold keys, and its epochs.

alter table talkgroups
  -- off: no keys, no encrypted audio. allowed: the talker chooses. required: clear audio is rejected.
  add column encryption text not null default 'allowed' check (encryption in ('off', 'allowed', 'required')),
  -- In required: whether a talker with an open emergency may talk in the clear.
  add column clear_emergency boolean not null default true,
  -- The first epoch that follows from master_secret. Those before it followed from one that was replaced.
  add column master_since integer not null default 0,
  -- The first epoch after the end of 'required'. Members without permission get none before it, whenever they joined.
  add column open_since integer not null default 0,
  -- use_at of the newest epoch, here because a rotation that waited for another one reads its row anew, and no other one.
  add column newest_use_at timestamptz,
  -- A member that had keys left. Any node rotates at this time. null: nothing is due.
  add column rotate_due_at timestamptz;

create index talkgroups_rotate_due_at on talkgroups (rotate_due_at) where rotate_due_at is not null;

alter table memberships
  -- Counts in required only: whether the member gets keys, hears and talks. A new membership has it false.
  add column may_have_keys boolean not null default false,
  -- The oldest epoch whose key the member may get. Nodes of the version before leave it 0.
  add column first_epoch integer not null default 0;

-- Whether a key holder was registered since the account was made or revoked: the first one needs no acceptance. On the
-- account, because of two registrations at once the second reads this row anew, and not the key holders.
alter table users add column had_holder boolean not null default false;

-- An installation of an app, with the public key of a pair (P-256) whose private key it never sends.
create table key_holders (
  id          uuid primary key default gen_random_uuid(),
  user_id     uuid not null references users (id) on delete cascade,
  -- The account's device at the registration. The holder goes when that device is disabled.
  device_id   uuid references devices (id),
  public_key  bytea not null check (octet_length(public_key) = 65), -- uncompressed: 04, x, y
  name        text not null,
  -- null: waits. It gets the epoch that is the newest at this time, and later ones.
  accepted_at timestamptz,
  created_at  timestamptz not null default now(),
  used_at     timestamptz not null default now(),
  unique (user_id, public_key)
);

create index key_holders_device_id on key_holders (device_id) where device_id is not null;

-- The last 64 epochs of each talkgroup. An epoch without a row was announced and in use before all that have one.
create table key_epochs (
  talkgroup_id     uuid not null references talkgroups (id) on delete cascade,
  rotation_counter integer not null,
  announced_at     timestamptz not null,
  -- From then on talkers begin bursts with it. It never precedes that of the epoch before.
  use_at           timestamptz not null,
  primary key (talkgroup_id, rotation_counter)
);
