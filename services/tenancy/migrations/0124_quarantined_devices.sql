-- muster:no-transaction
-- Devices that wait for a decision: few of all.
DROP INDEX CONCURRENTLY IF EXISTS devices_quarantined;
CREATE INDEX CONCURRENTLY devices_quarantined ON devices (partner_id, org_id, created_at) INCLUDE (site_id)
  WHERE status = 'quarantined';
