-- What a device may say beside where it is. updated_at is when the device was there, as far as it says so.
--
-- A node of an earlier version replaces the position and leaves these as they are, until a newer node stores the next one.
alter table gps_fixes
  add column speed    double precision,
  add column course   double precision,
  add column accuracy double precision,
  add column battery  double precision;
