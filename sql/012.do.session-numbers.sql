-- After 2^32 sessions the numbers begin again. A relay gives none that one of its sessions has. Without an end there was a day
-- on which nobody could connect any more.
alter sequence session_blocks cycle;
