-- Permits the devices of a rollout to go back to its version: a signed note, as a pin has it.
ALTER TABLE rollout ADD COLUMN rollback_note text CHECK (length(rollback_note) <= 65536);
