-- Serials in NFC, as usernames: one serial in two spellings was two devices, of which disabling one left the other. A second
-- spelling of a serial keeps its device as it is, and no account is linked to it any more.
update devices d set serial = normalize(serial)
where serial <> normalize(serial)
  and not exists (select from devices o where o.serial = normalize(d.serial))
  and id = (select min(o.id::text)::uuid from devices o where normalize(o.serial) = normalize(d.serial));
