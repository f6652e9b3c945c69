-- Webhooks that may have something to send: those with waiting first attempts, and those of retries in the order in
-- which they fall due. A leased row is in neither.
CREATE INDEX webhook_queue_firsts ON webhook_queue (webhook_id) WHERE NOT is_retry AND NOT leased;
CREATE INDEX webhook_queue_retries ON webhook_queue (due_at, webhook_id) WHERE is_retry AND NOT leased;
-- Webhooks whose breaker is open.
CREATE INDEX webhook_endpoint_state_open ON webhook_endpoint_state (open_until, webhook_id) WHERE open_until IS NOT NULL;
