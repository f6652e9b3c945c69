-- Events of an organization that emits very many at once, put aside by the matcher with one insert each, so that everybody else's are
-- not behind them in the stream. Taken up again a few per organization at a time.
CREATE TABLE webhook_backlog (
  id bigint GENERATED ALWAYS AS IDENTITY,
  org_id uuid NOT NULL,
  event_id uuid NOT NULL,
  type text NOT NULL,
  occurred_at timestamptz(3) NOT NULL,
  body text NOT NULL,
  PRIMARY KEY (org_id, id)
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);

ALTER TABLE webhook_backlog ENABLE ROW LEVEL SECURITY;
CREATE POLICY webhook_backlog_system ON webhook_backlog
  USING ((SELECT current_setting('app.scope', true)) = 'system');
