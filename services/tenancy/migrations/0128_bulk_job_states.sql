-- Text, as other states: of a varchar with a list in its CHECK, PostgreSQL restores another expression than it dumped.
DROP INDEX device_bulk_jobs_open;
ALTER TABLE device_bulk_jobs DROP CONSTRAINT device_bulk_jobs_state_check;
ALTER TABLE device_bulk_jobs ALTER COLUMN state TYPE text;
ALTER TABLE device_bulk_jobs ADD CONSTRAINT device_bulk_jobs_state_check
  CHECK (state IN ('queued', 'running', 'done', 'cancelled'));
CREATE INDEX device_bulk_jobs_open ON device_bulk_jobs (claimed_until) WHERE state IN ('queued', 'running');
