-- Customers of partners. A partner's people see all of its organizations or exactly those granted to them.
CREATE TABLE organizations (
  id uuid PRIMARY KEY,
  partner_id uuid NOT NULL REFERENCES partners (id),
  name varchar(255) NOT NULL CHECK (name <> ''),
  slug varchar(100) NOT NULL CHECK (slug ~ '^[A-Za-z0-9][A-Za-z0-9._~-]*$'),
  type text NOT NULL CHECK (type IN ('customer', 'internal')),
  status text NOT NULL CHECK (status IN ('active', 'suspended', 'trial', 'churned')),
  max_devices integer CHECK (max_devices >= 0),
  settings jsonb NOT NULL DEFAULT '{}',
  sso_config jsonb NOT NULL DEFAULT '{}',
  billing_contact jsonb NOT NULL DEFAULT '{}',
  contract_start timestamptz(3),
  contract_end timestamptz(3) CHECK (contract_end >= contract_start),
  version bigint NOT NULL DEFAULT 1,
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL,
  deleted_at timestamptz(3),
  -- What a site refers to, so that its partner is always its organization's.
  UNIQUE (id, partner_id)
);

-- One slug per partner whatever its case; a deleted organization's is free again.
CREATE UNIQUE INDEX organizations_slug ON organizations (partner_id, lower(slug)) WHERE deleted_at IS NULL;
CREATE INDEX organizations_by_name ON organizations (name, id) INCLUDE (partner_id) WHERE deleted_at IS NULL;
CREATE INDEX organizations_by_partner ON organizations (partner_id, name, id) WHERE deleted_at IS NULL;
CREATE INDEX organizations_registered ON organizations (partner_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX organizations_deleted ON organizations (partner_id, id) WHERE deleted_at IS NOT NULL;

ALTER TABLE organizations ENABLE ROW LEVEL SECURITY;
CREATE POLICY organizations_read ON organizations FOR SELECT USING (
  (SELECT current_setting('app.scope', true)) = 'system'
  OR (
    (SELECT current_setting('app.scope', true)) = 'partner'
    AND partner_id = (SELECT nullif(current_setting('app.partner_id', true), '')::uuid)
    AND (
      (SELECT current_setting('app.org_access', true)) = 'all'
      OR id = ANY ((SELECT nullif(current_setting('app.org_ids', true), '')::uuid[])::uuid[])
    )
  )
  OR (
    (SELECT current_setting('app.scope', true)) = 'organization'
    AND id = (SELECT nullif(current_setting('app.org_id', true), '')::uuid)
  )
);
CREATE POLICY organizations_insert ON organizations FOR INSERT WITH CHECK (
  (SELECT current_setting('app.scope', true)) = 'system'
  OR (
    (SELECT current_setting('app.scope', true)) = 'partner'
    AND partner_id = (SELECT nullif(current_setting('app.partner_id', true), '')::uuid)
    AND (SELECT current_setting('app.org_access', true)) = 'all'
  )
);
CREATE POLICY organizations_update ON organizations FOR UPDATE
  USING (
    (SELECT current_setting('app.scope', true)) = 'system'
    OR (
      (SELECT current_setting('app.scope', true)) = 'partner'
      AND partner_id = (SELECT nullif(current_setting('app.partner_id', true), '')::uuid)
      AND (
        (SELECT current_setting('app.org_access', true)) = 'all'
        OR id = ANY ((SELECT nullif(current_setting('app.org_ids', true), '')::uuid[])::uuid[])
      )
    )
  )
  WITH CHECK (
    (SELECT current_setting('app.scope', true)) = 'system'
    OR partner_id = (SELECT nullif(current_setting('app.partner_id', true), '')::uuid)
  );

-- Preferred display order, set by the order endpoint alone and shown among the settings.
ALTER TABLE partners ADD COLUMN organization_order uuid[] NOT NULL DEFAULT '{}';

-- A partner's people change their own row: name, billing, settings; and lock it while they add an organization.
DROP POLICY partners_update ON partners;
CREATE POLICY partners_update ON partners FOR UPDATE
  USING (
    (SELECT current_setting('app.scope', true)) = 'system'
    OR (
      (SELECT current_setting('app.scope', true)) = 'partner'
      AND id = (SELECT nullif(current_setting('app.partner_id', true), '')::uuid)
    )
  )
  WITH CHECK (
    (SELECT current_setting('app.scope', true)) = 'system'
    OR (
      (SELECT current_setting('app.scope', true)) = 'partner'
      AND id = (SELECT nullif(current_setting('app.partner_id', true), '')::uuid)
    )
  );
