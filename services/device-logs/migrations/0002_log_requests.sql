-- Requests whose entries are stored: a repeat is answered and stores nothing (docs/behaviour.md#agent-logs). `request` is
-- the digest of the Idempotency-Key, or without one that of the body.
CREATE TABLE agent_log_request (
  device_id uuid NOT NULL,
  org_id uuid NOT NULL,
  partner_id uuid NOT NULL,
  request bytea NOT NULL,
  body_sha256 bytea NOT NULL,
  expires_at timestamptz(3) NOT NULL,
  PRIMARY KEY (device_id, request)
);
CREATE INDEX agent_log_request_age ON agent_log_request (expires_at);

ALTER TABLE agent_log_request ENABLE ROW LEVEL SECURITY;
CALL policy('agent_log_request_system', 'agent_log_request', 'all', 'system');
