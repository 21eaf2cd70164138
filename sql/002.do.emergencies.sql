-- Emergencies: raised by radios, announced at once by the relay and stored behind that.
-- A cleared one stays as a record, and so that a raise repeated after it opens nothing anew.

create table emergencies (
  id              uuid primary key, -- the relay's: it is announced before it is stored
  user_id         uuid not null references users (id) on delete cascade,
  talkgroup_id    uuid not null references talkgroups (id) on delete cascade,
  state           text not null default 'raised' check (state in ('raised', 'acknowledged', 'cleared')),
  -- Where the radio was, as far as it knew.
  lat             double precision,
  lng             double precision,
  alt             double precision,
  raised_at       timestamptz not null,
  -- The first acknowledgement counts. The users are no references: the record outlives their accounts.
  acknowledged_at timestamptz,
  acknowledged_by uuid,
  cleared_at      timestamptz,
  cleared_by      uuid
);

-- One open emergency per user and talkgroup; also how a talkgroup's open ones are found.
create unique index emergencies_open on emergencies (talkgroup_id, user_id) where state <> 'cleared';

-- For the deletion of a talkgroup, which takes the cleared ones along.
create index emergencies_talkgroup_id on emergencies (talkgroup_id);
