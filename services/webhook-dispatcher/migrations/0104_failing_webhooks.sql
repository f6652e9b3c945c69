-- muster:no-transaction
-- Webhooks that need attention: few of all. Not by failed_attempts, which each batch of failures changes: such updates
-- stay within their page while no column of an index changes.
DROP INDEX CONCURRENTLY IF EXISTS webhook_endpoint_state_failing;
CREATE INDEX CONCURRENTLY webhook_endpoint_state_failing ON webhook_endpoint_state (org_id)
  WHERE failing_since IS NOT NULL OR open_seconds > 0;
DROP INDEX CONCURRENTLY IF EXISTS webhooks_marked_failed;
CREATE INDEX CONCURRENTLY webhooks_marked_failed ON webhooks (org_id) WHERE status = 'error' AND deleted_at IS NULL;
