-- A signed note that permits devices to go back to a pinned older version; null: they never go back.
ALTER TABLE update_settings ADD COLUMN rollback_note text CHECK (length(rollback_note) <= 65536);
