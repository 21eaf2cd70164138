-- Users are listed by the start of their name. In the collation C an index finds a start, and a to z match in both cases
-- on every server.

create index users_start_of_name on users (lower(username collate "C"));
