-- Why an endpoint is where it is, beside the counters.
ALTER TABLE webhook_endpoint_state
  ADD COLUMN last_failure_at timestamptz(3),
  -- Attempts since the last success.
  ADD COLUMN failed_attempts bigint NOT NULL DEFAULT 0,
  -- Why the dispatcher marked it failed: gone, exhausted.
  ADD COLUMN failed_reason text;

-- Sending again, bit by bit. A replay's deliveries all bear its own time, so that (webhook_id, created_at) finds them.
CREATE TABLE webhook_replays (
  id uuid PRIMARY KEY,
  webhook_id uuid NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
  org_id uuid NOT NULL,
  partner_id uuid NOT NULL,
  since timestamptz(3) NOT NULL,
  until timestamptz(3) NOT NULL,
  status_filter text NOT NULL CHECK (status_filter IN ('failed', 'delivered', 'all')),
  -- Empty: any.
  events text[] NOT NULL DEFAULT '{}',
  state text NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'running', 'done', 'cancelled')),
  -- The last delivery that was looked at.
  position_at timestamptz(3),
  position_id uuid,
  read_to_end boolean NOT NULL DEFAULT false,
  queued bigint NOT NULL DEFAULT 0,
  skipped bigint NOT NULL DEFAULT 0,
  -- Not worked on before.
  next_chunk_at timestamptz NOT NULL DEFAULT now(),
  created_by text NOT NULL,
  created_at timestamptz(3) NOT NULL,
  finished_at timestamptz(3)
);
CREATE INDEX webhook_replays_by_webhook ON webhook_replays (webhook_id, created_at DESC, id DESC);
CREATE INDEX webhook_replays_open ON webhook_replays (webhook_id, created_at, id) WHERE state IN ('queued', 'running');

ALTER TABLE webhook_queue ADD COLUMN replay_id uuid;
CREATE INDEX webhook_queue_by_replay ON webhook_queue (replay_id) WHERE replay_id IS NOT NULL;

ALTER TABLE webhook_replays ENABLE ROW LEVEL SECURITY;
CREATE POLICY webhook_replays_reached ON webhook_replays USING (
  (SELECT current_setting('app.scope', true)) = 'system'
  OR (
    (SELECT current_setting('app.scope', true)) = 'partner'
    AND partner_id = (SELECT nullif(current_setting('app.partner_id', true), '')::uuid)
    AND (
      (SELECT current_setting('app.org_access', true)) = 'all'
      OR org_id = ANY ((SELECT nullif(current_setting('app.org_ids', true), '')::uuid[])::uuid[])
    )
  )
  OR (
    (SELECT current_setting('app.scope', true)) = 'organization'
    AND org_id = (SELECT nullif(current_setting('app.org_id', true), '')::uuid)
  )
);
