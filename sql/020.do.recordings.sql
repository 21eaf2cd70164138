-- Recorded speech. A recording is one talk burst, or a piece of a long one. Without references: it outlives its talkgroup and
-- its talker.
alter table talkgroups add column recording_days smallint not null default 0
  check (recording_days between 0 and 3650);

create table recordings (
  -- Version 7, made of start (ms), session, burst and piece: every relay computes the same one.
  id uuid primary key,
  talkgroup_id uuid not null,
  talkgroup_number bigint not null,
  talkgroup_name text not null,
  -- null: erased.
  user_id uuid,
  username text,
  started_at timestamptz not null,
  expires_at timestamptz not null,
  -- Rotation counter, and whether encryption was required, when it began.
  epoch bigint not null,
  was_required boolean not null,
  priority smallint not null,
  emergency boolean not null,
  codec jsonb,
  crypto jsonb,
  -- Index of its first frame in the burst, from 1.
  first_frame bigint not null,
  -- null: it has no end yet.
  frames bigint,
  duration_ms bigint,
  code text,
  -- By the first frame that a relay relayed of it: the frames that relay did not store, by reason.
  lost jsonb,
  erased_at timestamptz,
  erased_by uuid
);
create index recordings_talkgroup on recordings (talkgroup_id, id);
create index recordings_emergency on recordings (talkgroup_id, id) where emergency;
create index recordings_user on recordings (user_id, id);
create index recordings_expiry on recordings (expires_at);
create index recordings_erased on recordings (erased_at) where erased_at is not null;

-- Up to 2.5 s of consecutive frames: of each the first four bytes of its header, u16 length, payload.
create table recording_parts (
  recording_id uuid not null,
  from_frame bigint not null,
  frames integer not null,
  bytes bytea not null,
  primary key (recording_id, from_frame)
) with (autovacuum_vacuum_scale_factor = 0.02, toast.autovacuum_vacuum_scale_factor = 0.02);
-- Opus does not compress.
alter table recording_parts alter column bytes set storage external;

-- Who listened. Written by the statement that reads the audio.
create table recording_reads (
  id bigint generated always as identity primary key,
  at timestamptz not null default now(),
  reader_id uuid not null,
  reader_name text not null,
  recording_id uuid not null
);
create index recording_reads_recording on recording_reads (recording_id, id);
