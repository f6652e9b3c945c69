-- Enrollments that end in the middle.
ALTER TABLE enrollment_reservations
  -- Whoever gives it up takes the device back first; until then nobody confirms it.
  ADD COLUMN given_up_at timestamptz(3),
  -- A deleted key's reservation stays: its device, if there is one, must be confirmed or taken back.
  DROP CONSTRAINT enrollment_reservations_key_id_fkey;

-- `usage_count` is what the limit counts: enrollments under way and those that succeeded. This is the latter alone, which is shown.
ALTER TABLE enrollment_keys ADD COLUMN confirmed_count integer NOT NULL DEFAULT 0 CHECK (confirmed_count >= 0);
UPDATE enrollment_keys SET confirmed_count = usage_count;
CREATE INDEX enrollment_reservations_given_up ON enrollment_reservations (device_id) WHERE given_up_at IS NOT NULL;
