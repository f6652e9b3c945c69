-- muster:no-transaction
-- Devices that do not run what they should: few of all, but while a release goes out.
DROP INDEX CONCURRENTLY IF EXISTS devices_by_update_state;
CREATE INDEX CONCURRENTLY devices_by_update_state ON devices (org_id, update_state, created_at DESC, id DESC)
  INCLUDE (partner_id, site_id, status) WHERE update_state IN ('behind', 'ahead', 'failed');
DROP INDEX CONCURRENTLY IF EXISTS devices_by_update_state_of_partner;
CREATE INDEX CONCURRENTLY devices_by_update_state_of_partner ON devices (partner_id, update_state, created_at DESC, id DESC)
  INCLUDE (org_id, site_id, status) WHERE update_state IN ('behind', 'ahead', 'failed');
