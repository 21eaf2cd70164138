-- Legal holds: recordings that one covers are neither erased nor deleted. Without references: a hold outlives its talkgroup and
-- the administrator who created it.
create table recording_holds (
  id uuid primary key default gen_random_uuid(),
  talkgroup_id uuid not null,
  talkgroup_name text not null,
  from_at timestamptz not null,
  to_at timestamptz not null check (to_at > from_at),
  -- Ids of recordings sort by time. These are the bounds in their index: the first one is that of a piece which may still run
  -- at from_at.
  from_id uuid not null,
  to_id uuid not null,
  reason text not null,
  created_by uuid not null,
  created_by_name text not null,
  created_at timestamptz not null default now()
);
create index recording_holds_talkgroup on recording_holds (talkgroup_id, from_id);

-- One row, which each new hold changes. A statement that erases or deletes locks it, and so finds out whether a hold was created
-- since it began.
create table recording_holds_made (
  only_row boolean primary key default true check (only_row),
  holds bigint not null
);
insert into recording_holds_made (holds) values (0);

-- null: a command.
alter table recording_reads alter column reader_id drop not null;
create index recording_reads_reader on recording_reads (reader_id, id) where reader_id is not null;
