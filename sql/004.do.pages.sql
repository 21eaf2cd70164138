-- Lists that are read in pages, in the order of ids.

-- The members of a talkgroup; it also does what the index it replaces did.
create index memberships_of_talkgroup on memberships (talkgroup_id, user_id);

-- The open emergencies; the cleared ones stay, and are many more.
create index emergencies_open_by_id on emergencies (id) where state <> 'cleared';

-- Last, because it keeps everybody from the memberships until the commit, reads included.
drop index memberships_talkgroup_id;
