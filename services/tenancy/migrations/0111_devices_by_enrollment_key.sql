-- muster:no-transaction
DROP INDEX CONCURRENTLY IF EXISTS devices_by_enrollment_key;
CREATE INDEX CONCURRENTLY devices_by_enrollment_key ON devices (enrollment_key_id, created_at DESC, id DESC)
  WHERE enrollment_key_id IS NOT NULL;
