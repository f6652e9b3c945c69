-- What partners and organizations set: org_id null is the partner's own row. A null field is unset.
CREATE TABLE update_settings (
  partner_id uuid NOT NULL,
  org_id uuid,
  agent_target text,
  watchdog_target text,
  update_policy text CHECK (update_policy IN ('automatic', 'manual')),
  window_days text[] CHECK (cardinality(window_days) > 0),
  window_start integer CHECK (window_start BETWEEN 0 AND 1439),
  window_end integer CHECK (window_end BETWEEN 0 AND 1440),
  version bigint NOT NULL DEFAULT 1,
  updated_at timestamptz(3) NOT NULL
);
CREATE UNIQUE INDEX update_settings_of ON update_settings
  (partner_id, coalesce(org_id, '00000000-0000-0000-0000-000000000000'::uuid));

CREATE TABLE update_attempt (
  id uuid PRIMARY KEY,
  device_id uuid NOT NULL,
  org_id uuid NOT NULL,
  partner_id uuid NOT NULL,
  site_id uuid,
  component text NOT NULL,
  release_id uuid NOT NULL,
  -- The release's, so that the row says it after the release is deleted.
  version text NOT NULL,
  rollout_id uuid NOT NULL,
  from_version text NOT NULL,
  state text NOT NULL CHECK (state IN ('offered', 'returned', 'succeeded', 'failed', 'cancelled', 'deferred')),
  offered_at timestamptz NOT NULL,
  deadline timestamptz NOT NULL,
  returned_at timestamptz,
  ended_at timestamptz,
  reason text
) WITH (fillfactor = 80);
CREATE UNIQUE INDEX update_attempt_open ON update_attempt (device_id) WHERE ended_at IS NULL;
CREATE INDEX update_attempt_device ON update_attempt (device_id, offered_at DESC);
CREATE INDEX update_attempt_due ON update_attempt (deadline) WHERE ended_at IS NULL;
CREATE INDEX update_attempt_rollout ON update_attempt (rollout_id, offered_at DESC, id DESC);
CREATE INDEX update_attempt_age ON update_attempt (ended_at) WHERE ended_at IS NOT NULL;

CREATE TABLE update_request (
  device_id uuid PRIMARY KEY,
  org_id uuid NOT NULL,
  partner_id uuid NOT NULL,
  requested_by text NOT NULL,
  expires_at timestamptz(3) NOT NULL
);
CREATE INDEX update_request_age ON update_request (expires_at);

-- When gateways were last heard of: while nobody is, no deadline passes.
CREATE TABLE update_watch (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  heard_at timestamptz NOT NULL
);
INSERT INTO update_watch (heard_at) VALUES (now());

ALTER TABLE update_settings ENABLE ROW LEVEL SECURITY;
ALTER TABLE update_attempt ENABLE ROW LEVEL SECURITY;
ALTER TABLE update_request ENABLE ROW LEVEL SECURITY;
ALTER TABLE update_watch ENABLE ROW LEVEL SECURITY;
-- The partner's row is what its organizations inherit: they see it.
CREATE POLICY update_settings_read ON update_settings FOR SELECT USING (
  (SELECT current_setting('app.scope', true)) = 'system'
  OR ((SELECT current_setting('app.scope', true)) = 'partner'
      AND partner_id = (SELECT nullif(current_setting('app.partner_id', true), '')::uuid)
      AND (org_id IS NULL
           OR (SELECT current_setting('app.org_access', true)) = 'all'
           OR org_id = ANY ((SELECT nullif(current_setting('app.org_ids', true), '')::uuid[])::uuid[])))
  OR ((SELECT current_setting('app.scope', true)) = 'organization'
      AND partner_id = (SELECT nullif(current_setting('app.partner_id', true), '')::uuid)
      AND (org_id IS NULL OR org_id = (SELECT nullif(current_setting('app.org_id', true), '')::uuid)))
);
CREATE POLICY update_settings_write ON update_settings
  USING (
    (SELECT current_setting('app.scope', true)) = 'system'
    OR ((SELECT current_setting('app.scope', true)) = 'partner'
        AND partner_id = (SELECT nullif(current_setting('app.partner_id', true), '')::uuid)
        AND ((SELECT current_setting('app.org_access', true)) = 'all'
             OR org_id = ANY ((SELECT nullif(current_setting('app.org_ids', true), '')::uuid[])::uuid[])))
    OR ((SELECT current_setting('app.scope', true)) = 'organization'
        AND partner_id = (SELECT nullif(current_setting('app.partner_id', true), '')::uuid)
        AND org_id = (SELECT nullif(current_setting('app.org_id', true), '')::uuid))
  );
CREATE POLICY update_attempt_system ON update_attempt
  USING ((SELECT current_setting('app.scope', true)) = 'system');
CREATE POLICY update_attempt_read ON update_attempt FOR SELECT USING (
  ((SELECT current_setting('app.scope', true)) = 'partner'
      AND partner_id = (SELECT nullif(current_setting('app.partner_id', true), '')::uuid)
      AND ((SELECT current_setting('app.org_access', true)) = 'all'
           OR org_id = ANY ((SELECT nullif(current_setting('app.org_ids', true), '')::uuid[])::uuid[])))
  OR ((SELECT current_setting('app.scope', true)) = 'organization'
      AND org_id = (SELECT nullif(current_setting('app.org_id', true), '')::uuid))
);
CREATE POLICY update_request_system ON update_request
  USING ((SELECT current_setting('app.scope', true)) = 'system');
CREATE POLICY update_watch_system ON update_watch
  USING ((SELECT current_setting('app.scope', true)) = 'system');
