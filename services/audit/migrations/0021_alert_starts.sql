-- Where an alert begins in a chain whose cursor was behind when it was set or resumed; gone once the cursor is there.
CREATE TABLE audit_alert_starts (
  chain_id uuid NOT NULL,
  alert_id uuid NOT NULL REFERENCES audit_alerts ON DELETE CASCADE,
  org_id uuid,
  partner_id uuid,
  seq bigint NOT NULL,
  PRIMARY KEY (chain_id, alert_id)
);
CREATE INDEX audit_alert_starts_by_alert ON audit_alert_starts (alert_id);
ALTER TABLE audit_alert_starts ENABLE ROW LEVEL SECURITY;
CALL policy('audit_alert_starts_own', 'audit_alert_starts', 'all', 'tenant');
