-- The health of webhooks as it was last computed and reported, apart from the state that every batch of outcomes changes.
CREATE TABLE webhook_health (
  webhook_id uuid PRIMARY KEY REFERENCES webhooks (id) ON DELETE CASCADE,
  org_id uuid NOT NULL,
  partner_id uuid NOT NULL,
  -- The last status that an event reported; healthy before the first.
  reported text NOT NULL DEFAULT 'healthy' CHECK (reported IN ('healthy', 'slow', 'failing', 'unreachable')),
  -- By status, when an event last reported it.
  reported_at jsonb NOT NULL DEFAULT '{}'
);
ALTER TABLE webhook_health ENABLE ROW LEVEL SECURITY;
CALL policy('webhook_health_system', 'webhook_health', 'all', 'system');
