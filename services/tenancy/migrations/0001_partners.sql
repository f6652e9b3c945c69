-- Top-level tenants. A partner's own row is visible to its people; only system callers change it here.
CREATE TABLE partners (
  id uuid PRIMARY KEY,
  name varchar(255) NOT NULL CHECK (name <> ''),
  slug varchar(100) NOT NULL CHECK (slug ~ '^[A-Za-z0-9][A-Za-z0-9._~-]*$'),
  type text NOT NULL CHECK (type IN ('msp', 'enterprise', 'internal')),
  plan text NOT NULL CHECK (plan IN ('free', 'starter', 'community', 'pro', 'enterprise', 'unlimited')),
  status text NOT NULL CHECK (status IN ('pending', 'active', 'suspended', 'churned')),
  max_organizations integer CHECK (max_organizations >= 0),
  max_devices integer CHECK (max_devices >= 0),
  settings jsonb NOT NULL DEFAULT '{}',
  sso_config jsonb NOT NULL DEFAULT '{}',
  billing_email varchar(255),
  version bigint NOT NULL DEFAULT 1,
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL,
  deleted_at timestamptz(3)
);

-- One slug whatever its case; a deleted partner's is free again.
CREATE UNIQUE INDEX partners_slug ON partners (lower(slug)) WHERE deleted_at IS NULL;
CREATE INDEX partners_by_name ON partners (name, id) WHERE deleted_at IS NULL;

ALTER TABLE partners ENABLE ROW LEVEL SECURITY;
CREATE POLICY partners_read ON partners FOR SELECT USING (
  (SELECT current_setting('app.scope', true)) = 'system'
  OR id = (SELECT nullif(current_setting('app.partner_id', true), '')::uuid)
);
CREATE POLICY partners_insert ON partners FOR INSERT
  WITH CHECK ((SELECT current_setting('app.scope', true)) = 'system');
CREATE POLICY partners_update ON partners FOR UPDATE
  USING ((SELECT current_setting('app.scope', true)) = 'system')
  WITH CHECK ((SELECT current_setting('app.scope', true)) = 'system');
