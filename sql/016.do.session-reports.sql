-- What each relay says of the sessions of one user while somebody asks. The rows live for seconds, and a crash may take them.
create unlogged table session_reports (
  ask uuid not null,
  node text not null,
  thread text not null,
  threads integer not null,
  at timestamptz not null default now(),
  report json not null,
  primary key (ask, node, thread)
);
