-- Lists of jobs are newest first.
CREATE INDEX device_bulk_jobs_newest ON device_bulk_jobs (created_at DESC, id DESC);
