-- Accounts, devices, talkgroups, memberships and the latest GPS fix of each device.
-- Column rules repeat what the REST schemas promise only where a second writer (CLI, another
-- node) could break them.

create table devices (
  id         uuid primary key default gen_random_uuid(),
  name       text not null,
  site       text not null,
  serial     text not null unique,
  active     boolean not null default true,
  created_at timestamptz not null default now()
);

create table users (
  id            uuid primary key default gen_random_uuid(),
  username      text not null unique, -- NFC, case-sensitive
  password_hash text not null,        -- bcrypt, cost 10
  role          text not null default 'user' check (role in ('admin', 'user')),
  device_id     uuid references devices (id),
  -- Tokens issued before this Unix second are refused: `revoke` moves it forward.
  valid_from    bigint not null default 0,
  created_at    timestamptz not null default now()
);

create index users_device_id on users (device_id);

create table talkgroups (
  id               uuid primary key default gen_random_uuid(),
  -- The u32 that stands for the talkgroup in an audio frame.
  number           bigint generated always as identity (maxvalue 4294967295) unique,
  name             text not null,
  rotation_counter integer not null default 0,
  floor_mode       text not null default 'open' check (floor_mode in ('open', 'single', 'broadcast')),
  max_talk_ms      integer not null default 60000 check (max_talk_ms = 0 or max_talk_ms between 1000 and 3600000),
  master_secret    bytea not null check (octet_length(master_secret) = 32),
  created_at       timestamptz not null default now()
);

create table memberships (
  user_id      uuid not null references users (id) on delete cascade,
  talkgroup_id uuid not null references talkgroups (id) on delete cascade,
  site         text not null,
  created_at   timestamptz not null default now(),
  primary key (user_id, talkgroup_id)
);

create index memberships_talkgroup_id on memberships (talkgroup_id);

-- One row per device: the latest fix replaces the one before.
create table gps_fixes (
  device_id  uuid primary key references devices (id) on delete cascade,
  id         uuid not null default gen_random_uuid(),
  lat        double precision not null,
  lng        double precision not null,
  alt        double precision not null,
  updated_at timestamptz not null default now()
);

-- Each value is a block of 1,024 session numbers: block n holds n * 1024 .. n * 1024 + 1023.
-- No cycle: a session number (u32) is never issued twice; the last block ends at 2^32 - 1.
create sequence session_blocks as bigint minvalue 1 maxvalue 4194303 no cycle;
