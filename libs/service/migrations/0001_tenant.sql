-- What tenancy says of partners, organizations and sites, kept by libs/service/src/tenant-copy.ts. Deleted ones stay, so that
-- a late event cannot bring them back.
CREATE TABLE tenant (
  kind text NOT NULL CHECK (kind IN ('partner', 'organization', 'site')),
  id uuid NOT NULL,
  -- Its own id for a partner.
  partner_id uuid NOT NULL,
  -- Null for partners; its own id for an organization.
  org_id uuid,
  version bigint NOT NULL,
  -- Empty for sites.
  status text NOT NULL,
  deleted boolean NOT NULL,
  -- When this copy last heard of it.
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (kind, id)
);
CREATE INDEX tenant_partner ON tenant (partner_id, kind);
CREATE INDEX tenant_organization ON tenant (org_id, kind) WHERE org_id IS NOT NULL;

ALTER TABLE tenant ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant_read ON tenant FOR SELECT USING (
  (SELECT current_setting('app.scope', true)) = 'system'
  OR ((SELECT current_setting('app.scope', true)) = 'partner'
      AND partner_id = (SELECT nullif(current_setting('app.partner_id', true), '')::uuid))
  OR ((SELECT current_setting('app.scope', true)) = 'organization'
      AND partner_id = (SELECT nullif(current_setting('app.partner_id', true), '')::uuid)
      AND (org_id IS NULL OR org_id = (SELECT nullif(current_setting('app.org_id', true), '')::uuid)))
);
CALL policy('tenant_write', 'tenant', 'all', 'system');
