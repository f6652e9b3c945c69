-- Roles, people and their session families.
CREATE TABLE roles (
  id uuid PRIMARY KEY,
  -- Set on the seeded roles only; their permissions follow the catalogue.
  key text UNIQUE,
  name varchar(255) NOT NULL,
  scope text NOT NULL CHECK (scope IN ('system', 'partner', 'organization')),
  partner_id uuid,
  org_id uuid,
  permissions text[] NOT NULL,
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL
);

CREATE TABLE users (
  id uuid PRIMARY KEY,
  email varchar(255) NOT NULL,
  name varchar(255) NOT NULL,
  department varchar(255),
  scope text NOT NULL CHECK (scope IN ('system', 'partner', 'organization')),
  partner_id uuid,
  org_id uuid,
  role_id uuid NOT NULL REFERENCES roles,
  org_access text NOT NULL DEFAULT 'none' CHECK (org_access IN ('all', 'selected', 'none')),
  password_hash text,
  status text NOT NULL CHECK (status IN ('invited', 'active', 'disabled')),
  -- Bumped with each change of role, grants or status.
  version integer NOT NULL DEFAULT 1,
  last_login_at timestamptz(3),
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL,
  CHECK ((scope = 'system') = (partner_id IS NULL)),
  CHECK ((scope = 'organization') = (org_id IS NOT NULL))
);
CREATE UNIQUE INDEX users_email ON users (lower(email));
CREATE INDEX users_partner ON users (partner_id, org_id);

-- Organizations a partner user with access "selected" reaches.
CREATE TABLE user_organizations (
  user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
  org_id uuid NOT NULL,
  partner_id uuid NOT NULL,
  PRIMARY KEY (user_id, org_id)
);

CREATE TABLE sessions (
  id uuid PRIMARY KEY,
  user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
  partner_id uuid,
  org_id uuid,
  -- Number of the refresh token that is valid now; token n is derived from the family secret and n.
  generation integer NOT NULL DEFAULT 1,
  family_secret bytea NOT NULL,
  mfa_at timestamptz(3),
  ip_address varchar(45),
  user_agent text,
  created_at timestamptz(3) NOT NULL,
  rotated_at timestamptz(3) NOT NULL,
  idle_expires_at timestamptz(3) NOT NULL,
  expires_at timestamptz(3) NOT NULL,
  revoked_at timestamptz(3),
  revoke_reason text
);
CREATE INDEX sessions_user ON sessions (user_id, created_at DESC);
CREATE INDEX sessions_expiry ON sessions (expires_at);

ALTER TABLE roles ENABLE ROW LEVEL SECURITY;
ALTER TABLE users ENABLE ROW LEVEL SECURITY;
ALTER TABLE user_organizations ENABLE ROW LEVEL SECURITY;
ALTER TABLE sessions ENABLE ROW LEVEL SECURITY;

-- Seeded roles are everybody's to see; a tenant's own roles are the tenant's.
CREATE POLICY roles_read ON roles FOR SELECT USING (
  (SELECT current_setting('app.scope', true)) = 'system'
  OR ((SELECT current_setting('app.scope', true)) IN ('partner', 'organization') AND key IS NOT NULL)
  OR ((SELECT current_setting('app.scope', true)) = 'partner'
      AND partner_id = (SELECT nullif(current_setting('app.partner_id', true), '')::uuid))
  OR ((SELECT current_setting('app.scope', true)) = 'organization'
      AND org_id = (SELECT nullif(current_setting('app.org_id', true), '')::uuid))
);
CREATE POLICY roles_write ON roles FOR ALL
  USING ((SELECT current_setting('app.scope', true)) = 'system')
  WITH CHECK ((SELECT current_setting('app.scope', true)) = 'system');

CREATE POLICY users_tenant ON users FOR ALL
  USING (
    (SELECT current_setting('app.scope', true)) = 'system'
    OR ((SELECT current_setting('app.scope', true)) = 'partner'
        AND partner_id = (SELECT nullif(current_setting('app.partner_id', true), '')::uuid)
        AND (org_id IS NULL
             OR (SELECT current_setting('app.org_access', true)) = 'all'
             OR org_id = ANY ((SELECT nullif(current_setting('app.org_ids', true), '')::uuid[])::uuid[])))
    OR ((SELECT current_setting('app.scope', true)) = 'organization'
        AND org_id = (SELECT nullif(current_setting('app.org_id', true), '')::uuid))
  );

CREATE POLICY user_organizations_tenant ON user_organizations FOR ALL
  USING (
    (SELECT current_setting('app.scope', true)) = 'system'
    OR ((SELECT current_setting('app.scope', true)) = 'partner'
        AND partner_id = (SELECT nullif(current_setting('app.partner_id', true), '')::uuid))
  );

CREATE POLICY sessions_tenant ON sessions FOR ALL
  USING (
    (SELECT current_setting('app.scope', true)) = 'system'
    OR ((SELECT current_setting('app.scope', true)) = 'partner'
        AND partner_id = (SELECT nullif(current_setting('app.partner_id', true), '')::uuid)
        AND (org_id IS NULL
             OR (SELECT current_setting('app.org_access', true)) = 'all'
             OR org_id = ANY ((SELECT nullif(current_setting('app.org_ids', true), '')::uuid[])::uuid[])))
    OR ((SELECT current_setting('app.scope', true)) = 'organization'
        AND org_id = (SELECT nullif(current_setting('app.org_id', true), '')::uuid))
  );
