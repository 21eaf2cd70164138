-- A key holder that is registered while its account is revoked, or while its device is disabled, does not outlive that.
--
-- The statement that revokes deletes the key holders that it saw when it began, and then waits for the row. A trigger reads
-- anew, behind the wait, what a registration stored meanwhile.
create function delete_key_holders() returns trigger language plpgsql as $$
begin
  if tg_table_name = 'users' then
    delete from key_holders where user_id = new.id;
  else
    delete from key_holders where device_id = new.id;
  end if;
  return null;
end
$$;

create trigger users_revoked after update of valid_from on users
  for each row when (new.valid_from > old.valid_from) execute function delete_key_holders();

create trigger devices_disabled after update of active on devices
  for each row when (old.active and not new.active) execute function delete_key_holders();
