-- Locations of organizations, deleted for good. People may be restricted to some sites of what they reach.
CREATE TABLE sites (
  id uuid PRIMARY KEY,
  org_id uuid NOT NULL,
  partner_id uuid NOT NULL,
  name varchar(255) NOT NULL CHECK (name <> ''),
  timezone varchar(50) NOT NULL DEFAULT 'UTC',
  address jsonb NOT NULL DEFAULT '{}',
  contact jsonb NOT NULL DEFAULT '{}',
  settings jsonb NOT NULL DEFAULT '{}',
  version bigint NOT NULL DEFAULT 1,
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL,
  FOREIGN KEY (org_id, partner_id) REFERENCES organizations (id, partner_id)
);

-- Each with all that the policies read, so that counting and skipping pages never touch the rows.
CREATE INDEX sites_by_org ON sites (org_id, name, id) INCLUDE (partner_id);
CREATE INDEX sites_by_partner ON sites (partner_id, name, id) INCLUDE (org_id);
CREATE INDEX sites_by_name ON sites (name, id) INCLUDE (partner_id, org_id);

ALTER TABLE sites ENABLE ROW LEVEL SECURITY;
CREATE POLICY sites_reached ON sites
  USING (
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
      OR id = ANY ((SELECT nullif(current_setting('app.site_ids', true), '')::uuid[])::uuid[])
    )
  )
  WITH CHECK (
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
