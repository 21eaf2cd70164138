-- Master secrets may be wrapped: AES-256-GCM over the 32 bytes, bound to the talkgroup's id.
-- Rows of both kinds stand side by side, so that older nodes can go on inserting theirs as they are.

alter table talkgroups
  drop constraint talkgroups_master_secret_check,
  -- Names the key, and so tells the kinds apart; null: the secret lies here as it is.
  add column wrapped_by text check (wrapped_by ~ '^[0-9a-f]{16}$'),
  -- Wrapped: nonce (12 bytes), ciphertext (32), tag (16).
  add constraint talkgroups_master_secret_check
    check (octet_length(master_secret) = case when wrapped_by is null then 32 else 60 end);
