-- Changes of all devices that match a filter, one device after the other in the order of `device_ids`: each transaction
-- moves `position` with the change of the device there, so that none is changed twice.
CREATE TABLE device_bulk_jobs (
  id uuid PRIMARY KEY,
  org_id uuid,
  partner_id uuid REFERENCES partners (id) CHECK (org_id IS NULL OR partner_id IS NOT NULL),
  created_by uuid NOT NULL,
  -- With the rights of this caller the devices are changed; requests name the one that made the job.
  caller jsonb NOT NULL,
  meta jsonb NOT NULL,
  filter jsonb NOT NULL,
  action varchar(20) NOT NULL,
  change jsonb NOT NULL,
  device_ids uuid[] NOT NULL,
  total integer NOT NULL CHECK (total > 0),
  position integer NOT NULL DEFAULT 0 CHECK (position <= total),
  failed integer NOT NULL DEFAULT 0,
  failures jsonb NOT NULL DEFAULT '{}',
  state varchar(10) NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'running', 'done', 'cancelled')),
  -- Until then one process works on it; the one that waits longest is taken next.
  claimed_until timestamptz NOT NULL,
  created_at timestamptz(3) NOT NULL,
  finished_at timestamptz(3),
  FOREIGN KEY (org_id, partner_id) REFERENCES organizations (id, partner_id)
);
-- Not compressed: the ids of a slice are read without the others.
ALTER TABLE device_bulk_jobs ALTER COLUMN device_ids SET STORAGE EXTERNAL;

CREATE INDEX device_bulk_jobs_open ON device_bulk_jobs (claimed_until) WHERE state IN ('queued', 'running');
CREATE INDEX device_bulk_jobs_ended ON device_bulk_jobs (finished_at) WHERE finished_at IS NOT NULL;
CREATE INDEX device_bulk_jobs_of_tenant ON device_bulk_jobs (partner_id, org_id);

ALTER TABLE device_bulk_jobs ENABLE ROW LEVEL SECURITY;
CALL policy('device_bulk_jobs_tenant', 'device_bulk_jobs', 'all', 'tenant');
