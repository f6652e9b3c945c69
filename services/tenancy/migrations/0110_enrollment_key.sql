-- The key that a device enrolled with, for those who wait for the machine to which they gave it. Heartbeats do not write it.
ALTER TABLE devices ADD COLUMN enrollment_key_id uuid;
