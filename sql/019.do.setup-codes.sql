-- A code with which a user sets the first password, or another one. A new code replaces the one before. It is void when the
-- account has another role, or when its tokens were revoked since.
create table setup_codes (
  user_id uuid primary key references users (id) on delete cascade,
  code_hash bytea not null unique,
  expires_at timestamptz not null,
  role text not null,
  valid_from bigint not null
);
