-- What administrators, dispatchers and commands did. There are no foreign keys: a row outlives whom and what it names. The
-- statement that acts writes it, so neither exists without the other.
create table acts (
  id bigint generated always as identity primary key,
  at timestamptz not null default now(),
  by_id uuid,
  by_name text not null,
  way text not null check (way in ('rest', 'relay', 'command', 'service')),
  act text not null,
  user_id uuid,
  device_id uuid,
  talkgroup_id uuid,
  details jsonb not null default '{}'
);

create index acts_at on acts (at);
create index acts_act on acts (act, id);
create index acts_user on acts (user_id, id) where user_id is not null;
-- By a user, or by the name of a command.
create index acts_by on acts (by_id, by_name, id);
