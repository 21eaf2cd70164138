-- A code with which a user sets the first password, or another one. A new code replaces the one before.
create table setup_codes (
  user_id uuid primary key references users (id) on delete cascade,
  code_hash bytea not null unique,
  expires_at timestamptz not null
);
