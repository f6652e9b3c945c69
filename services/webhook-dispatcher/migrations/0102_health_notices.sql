-- Users who get mails about the health of a webhook; null: who made it.
ALTER TABLE webhooks ADD COLUMN notify_user_ids uuid[];

-- For how many hours it had failed when a mail last said so, and since when it failed then.
ALTER TABLE webhook_health ADD COLUMN reminded_hours integer NOT NULL DEFAULT 0;
ALTER TABLE webhook_health ADD COLUMN reminded_since timestamptz(3);

-- Lines for mails that identity does not have yet.
CREATE TABLE webhook_health_notices (
  id uuid PRIMARY KEY,
  webhook_id uuid NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
  org_id uuid NOT NULL,
  partner_id uuid NOT NULL,
  user_ids uuid[] NOT NULL,
  line text NOT NULL,
  created_at timestamptz(3) NOT NULL,
  next_at timestamptz(3) NOT NULL DEFAULT now()
);
CREATE INDEX webhook_health_notices_due ON webhook_health_notices (next_at);
CREATE INDEX webhook_health_notices_of_webhook ON webhook_health_notices (webhook_id);
ALTER TABLE webhook_health_notices ENABLE ROW LEVEL SECURITY;
CALL policy('webhook_health_notices_system', 'webhook_health_notices', 'all', 'system');
