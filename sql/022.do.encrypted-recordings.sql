-- Finds the recordings that lose their keys with the master secret of their talkgroup.
create index recordings_encrypted on recordings (talkgroup_id, expires_at)
  where crypto is not null and erased_at is null;

-- Whether the reader got the key of the recording. Otherwise its frames.
alter table recording_reads add column of_key boolean not null default false;
