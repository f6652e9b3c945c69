-- What directories asked and how it was answered, without values; kept 30 days, and the newest 10,000 of each.
CREATE TABLE directory_requests (
  id uuid PRIMARY KEY,
  directory_id uuid NOT NULL REFERENCES directories ON DELETE CASCADE,
  partner_id uuid NOT NULL,
  org_id uuid,
  created_at timestamptz(3) NOT NULL,
  operation text NOT NULL,
  resource_id text,
  filter text,
  -- "ok", or the code of the refusal.
  outcome text NOT NULL,
  scim_type text,
  detail text,
  request_id text
);
CREATE INDEX directory_requests_newest ON directory_requests (directory_id, created_at DESC, id DESC);
CREATE INDEX directory_requests_age ON directory_requests (created_at);

-- Counts since the last pause of ten minutes.
CREATE TABLE directory_cycles (
  directory_id uuid PRIMARY KEY REFERENCES directories ON DELETE CASCADE,
  partner_id uuid NOT NULL,
  org_id uuid,
  started_at timestamptz(3) NOT NULL,
  last_at timestamptz(3) NOT NULL,
  requests bigint NOT NULL,
  refused bigint NOT NULL,
  created bigint NOT NULL,
  changed bigint NOT NULL,
  deleted bigint NOT NULL
);

ALTER TABLE directory_requests ENABLE ROW LEVEL SECURITY;
ALTER TABLE directory_cycles ENABLE ROW LEVEL SECURITY;
CALL policy('directory_requests_tenant', 'directory_requests', 'all', 'tenant');
CALL policy('directory_cycles_tenant', 'directory_cycles', 'all', 'tenant');
