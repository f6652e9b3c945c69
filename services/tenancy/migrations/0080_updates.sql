-- What an agent is updating itself to, while its device is updating.
ALTER TABLE devices
  ADD COLUMN helper_version text,
  ADD COLUMN updating_component text,
  ADD COLUMN updating_version text;

-- The watch looks at updating devices, too: at the latest when their update may take no longer.
CREATE INDEX devices_presence_check ON devices (offline_check_at) WHERE status IN ('online', 'updating');
DROP INDEX devices_offline_check;
