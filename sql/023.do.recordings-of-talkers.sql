-- Lists of one talker.
create index recordings_talker on recordings (username, id);
