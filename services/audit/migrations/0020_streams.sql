-- Rows of an organization's chain that flow out: where to, and how far they have come.
CREATE TABLE audit_streams (
  id uuid PRIMARY KEY,
  org_id uuid NOT NULL,
  partner_id uuid NOT NULL,
  name varchar(255) NOT NULL CHECK (name <> ''),
  type text NOT NULL CHECK (type IN ('webhook', 'archive')),
  url_sealed bytea,
  -- Without userinfo and tokens: what replies and logs may show.
  url_shown text,
  secret_sealed bytea,
  status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'paused', 'failed')),
  -- The last row that was taken.
  cursor_seq bigint NOT NULL,
  -- The last row of the batch that is sent until it is taken: a repeat has the same rows and the same id.
  batch_to bigint,
  -- Whoever took it may have seen it: its answer never came.
  is_doubtful boolean NOT NULL DEFAULT false,
  rows_sent bigint NOT NULL DEFAULT 0,
  failures integer NOT NULL DEFAULT 0,
  failing_since timestamptz(3),
  last_error text,
  last_error_at timestamptz(3),
  last_success_at timestamptz(3),
  next_attempt_at timestamptz NOT NULL DEFAULT now(),
  -- Whose turn it is; `fence` grows with each holder.
  leased_until timestamptz,
  fence bigint NOT NULL DEFAULT 0,
  created_by text NOT NULL,
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL,
  CHECK (type <> 'webhook' OR (url_sealed IS NOT NULL AND url_shown IS NOT NULL AND secret_sealed IS NOT NULL))
);
CREATE INDEX audit_streams_by_org ON audit_streams (org_id, created_at DESC, id DESC);
CREATE INDEX audit_streams_due ON audit_streams (next_attempt_at) WHERE status = 'active';

ALTER TABLE audit_streams ENABLE ROW LEVEL SECURITY;
CREATE POLICY audit_streams_own ON audit_streams USING (
  (SELECT current_setting('app.scope', true)) = 'system'
  OR ((SELECT current_setting('app.scope', true)) = 'partner'
      AND partner_id = (SELECT nullif(current_setting('app.partner_id', true), '')::uuid)
      AND ((SELECT current_setting('app.org_access', true)) = 'all'
           OR org_id = ANY ((SELECT nullif(current_setting('app.org_ids', true), '')::uuid[])::uuid[])))
  OR ((SELECT current_setting('app.scope', true)) = 'organization'
      AND org_id = (SELECT nullif(current_setting('app.org_id', true), '')::uuid))
);
