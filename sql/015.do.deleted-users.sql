-- A user can be deleted. Cleared emergencies stay without the user, and an open one keeps its user from being deleted. The
-- rule is here, because a raise and a deletion may meet.
alter table emergencies
  alter column user_id drop not null,
  drop constraint emergencies_user_id_fkey,
  add constraint emergencies_user_id_fkey foreign key (user_id) references users (id) on delete set null not valid,
  add constraint emergencies_open_with_user check (user_id is not null or state = 'cleared') not valid;

alter table emergencies validate constraint emergencies_user_id_fkey;
alter table emergencies validate constraint emergencies_open_with_user;
