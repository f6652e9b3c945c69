-- Organizations that ever had a webhook: their events are stored without a subscriber, too, and a replay finds them.
CREATE TABLE webhook_organizations (
  org_id uuid PRIMARY KEY,
  partner_id uuid NOT NULL
);
ALTER TABLE webhook_organizations ENABLE ROW LEVEL SECURITY;
CALL policy('webhook_organizations_reached', 'webhook_organizations', 'all', 'organization');
INSERT INTO webhook_organizations SELECT DISTINCT ON (org_id) org_id, partner_id FROM webhooks ORDER BY org_id, created_at;

ALTER TABLE webhook_replays DROP CONSTRAINT webhook_replays_status_filter_check;
ALTER TABLE webhook_replays ADD CHECK (status_filter IN ('failed', 'delivered', 'all', 'missing'));
