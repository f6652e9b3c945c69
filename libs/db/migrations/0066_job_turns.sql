-- Jobs of a lane (a tenant) take turns with those of other lanes; a job may wait in one of a few places, and be open once under a key.
alter table job
  add column lane text,
  add column place text,
  add column open_key text,
  add column claimed_at timestamptz;

create unique index job_place on job (kind, place) where state = 'queued';
create unique index job_open_key on job (kind, open_key) where state in ('queued', 'running');
-- When a lane was served last.
create index job_turns on job (kind, lane, claimed_at);
