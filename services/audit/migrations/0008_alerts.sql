-- Alerts: searches that notify when rows match. One without an organization covers a partner's chain and those of its
-- organizations, one without a partner all chains.
CREATE TABLE audit_alerts (
  id uuid PRIMARY KEY,
  org_id uuid,
  partner_id uuid CHECK (org_id IS NULL OR partner_id IS NOT NULL),
  name varchar(255) NOT NULL CHECK (name <> ''),
  -- Ready-made search, instead of a filter.
  template text,
  filter jsonb NOT NULL,
  -- So many rows of a chain within so many minutes; one row without minutes.
  threshold_count integer NOT NULL CHECK (threshold_count BETWEEN 1 AND 1000),
  threshold_minutes integer CHECK (threshold_minutes BETWEEN 1 AND 1440),
  webhook boolean NOT NULL,
  recipients uuid[] NOT NULL,
  status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'paused', 'ended')),
  last_error text,
  last_fired_at timestamptz(3),
  fired bigint NOT NULL DEFAULT 0,
  -- User who last set what it matches and whom it notifies; it fires only while that user may read the rows.
  author_id uuid NOT NULL,
  author_checked_at timestamptz(3) NOT NULL,
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL,
  CHECK (threshold_count = 1 OR threshold_minutes IS NOT NULL)
);
CREATE INDEX audit_alerts_by_org ON audit_alerts (org_id, created_at DESC, id DESC);
CREATE INDEX audit_alerts_by_partner ON audit_alerts (partner_id, created_at DESC, id DESC) WHERE org_id IS NULL;
CREATE INDEX audit_alerts_to_check ON audit_alerts (author_checked_at) WHERE status <> 'ended';

-- The last row of each chain that was compared with the alerts that cover it.
CREATE TABLE audit_alert_cursors (
  chain_id uuid PRIMARY KEY,
  org_id uuid,
  partner_id uuid,
  seq bigint NOT NULL,
  -- The chain that waits for the longest time is next.
  moved_at timestamptz(3) NOT NULL DEFAULT now()
);

-- Times of matching rows that have not reached their alert's threshold yet, oldest first.
CREATE TABLE audit_alert_counts (
  alert_id uuid NOT NULL REFERENCES audit_alerts ON DELETE CASCADE,
  chain_id uuid NOT NULL,
  times timestamptz(3)[] NOT NULL,
  PRIMARY KEY (alert_id, chain_id)
);

-- What fired and was not sent yet. Written in the transaction that moves the chain's cursor.
CREATE TABLE audit_alert_firings (
  id uuid PRIMARY KEY,
  alert_id uuid NOT NULL REFERENCES audit_alerts ON DELETE CASCADE,
  chain_id uuid NOT NULL,
  chain_org_id uuid,
  chain_partner_id uuid,
  last_seq bigint NOT NULL,
  rows integer NOT NULL,
  -- The last rows, as they are sent.
  sample jsonb NOT NULL,
  fired_at timestamptz(3) NOT NULL,
  attempts integer NOT NULL DEFAULT 0,
  next_at timestamptz(3) NOT NULL,
  UNIQUE (alert_id, chain_id, last_seq)
);
CREATE INDEX audit_alert_firings_due ON audit_alert_firings (next_at);

ALTER TABLE audit_alerts ENABLE ROW LEVEL SECURITY;
ALTER TABLE audit_alert_cursors ENABLE ROW LEVEL SECURITY;
ALTER TABLE audit_alert_counts ENABLE ROW LEVEL SECURITY;
ALTER TABLE audit_alert_firings ENABLE ROW LEVEL SECURITY;
CALL policy('audit_alerts_own', 'audit_alerts', 'all', 'tenant');
CALL policy('audit_alert_cursors_own', 'audit_alert_cursors', 'all', 'tenant');
CALL policy('audit_alert_counts_system', 'audit_alert_counts', 'all', 'system');
CALL policy('audit_alert_firings_system', 'audit_alert_firings', 'all', 'system');
