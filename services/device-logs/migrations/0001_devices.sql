-- Devices as tenancy says: whose they are and where. Filled by events, and asked for when one is not there yet
-- (docs/decisions/0023-device-copy.md). Decommissioned ones stay: their logs are still read.
CREATE TABLE device (
  id uuid PRIMARY KEY,
  org_id uuid NOT NULL,
  partner_id uuid NOT NULL,
  site_id uuid,
  status text NOT NULL,
  version bigint NOT NULL,
  -- When tenancy last said so.
  heard_at timestamptz NOT NULL
);
CREATE INDEX device_of_site ON device (site_id) WHERE site_id IS NOT NULL;

ALTER TABLE device ENABLE ROW LEVEL SECURITY;
CREATE POLICY device_read ON device FOR SELECT USING (
  (
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
  )
  AND (
    (SELECT coalesce(current_setting('app.site_ids', true), '')) = ''
    OR site_id = ANY ((SELECT nullif(current_setting('app.site_ids', true), '')::uuid[])::uuid[])
  )
);
CREATE POLICY device_write ON device FOR ALL
  USING ((SELECT current_setting('app.scope', true)) = 'system')
  WITH CHECK ((SELECT current_setting('app.scope', true)) = 'system');
