-- Limits of an organization that differ from the platform's settings; null: the setting. Retention shorter than the
-- platform's is done by deletes, from `..._pruned_before` on, before which nothing of the organization is left.
CREATE TABLE log_limit (
  org_id uuid PRIMARY KEY,
  partner_id uuid NOT NULL,
  rows_per_day bigint CHECK (rows_per_day > 0),
  bytes_per_day bigint CHECK (bytes_per_day > 0),
  agent_log_days integer CHECK (agent_log_days BETWEEN 1 AND 3650),
  event_log_days integer CHECK (event_log_days BETWEEN 1 AND 3650),
  agent_logs_pruned_before timestamptz(3),
  events_pruned_before timestamptz(3)
);

ALTER TABLE log_limit ENABLE ROW LEVEL SECURITY;
CALL policy('log_limit_read', 'log_limit', 'select', 'organization');
CALL policy('log_limit_insert', 'log_limit', 'insert', 'organization');
CALL policy('log_limit_update', 'log_limit', 'update', 'organization');
CALL policy('log_limit_delete', 'log_limit', 'delete', 'system');

-- What the agents of an organization sent on a day of UTC, as each process adds it once a second.
CREATE TABLE log_usage (
  org_id uuid NOT NULL,
  partner_id uuid NOT NULL,
  day date NOT NULL,
  rows bigint NOT NULL,
  bytes bigint NOT NULL,
  -- Requests beyond the limit.
  refused bigint NOT NULL,
  PRIMARY KEY (org_id, day)
);
CREATE INDEX log_usage_of_day ON log_usage (day, rows DESC, org_id DESC);

ALTER TABLE log_usage ENABLE ROW LEVEL SECURITY;
CALL policy('log_usage_read', 'log_usage', 'select', 'organization');
CALL policy('log_usage_write', 'log_usage', 'all', 'system');
