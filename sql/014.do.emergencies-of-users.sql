-- The emergencies of a user go with it. Without an index the deletion of one user read all of them.
create index emergencies_user_id on emergencies (user_id);
