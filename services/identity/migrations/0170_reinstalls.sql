-- What becomes of a machine that enrolls again while the device with its hardware id is offline.
ALTER TABLE enrollment_keys
  ADD COLUMN reinstall text NOT NULL DEFAULT 'quarantine' CHECK (reinstall IN ('quarantine', 'replace', 'new'));
