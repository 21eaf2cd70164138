-- No token carries a later second than this one, or than valid_from of its user. A revocation goes beyond it: the clock may
-- have been set back since a token was issued. Tokens of nodes of the version before carry the time of the node.
create table token_times (
  newest_iat bigint not null, -- Unix seconds, of the clock of the database
  only_one   boolean primary key default true check (only_one)
);

insert into token_times (newest_iat) values (floor(extract(epoch from now()))::bigint);
