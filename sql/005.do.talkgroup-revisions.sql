-- The number of changes of a talkgroup's settings: of two nodes that disagree, the one with the higher number is right.
-- Nodes of the version before change settings without it. Then reads alone decide, as they did.

alter table talkgroups add column revision integer not null default 0;
