-- Directories: a SCIM client of an organization or a partner, and its tokens (docs/directory.md).
CREATE TABLE directories (
  id uuid PRIMARY KEY,
  partner_id uuid NOT NULL,
  -- Null: the partner's own.
  org_id uuid,
  name varchar(255) NOT NULL,
  preset text,
  status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'paused')),
  provider_id uuid REFERENCES sso_providers ON DELETE SET NULL,
  -- Of users whom no mapping matches; null: these have no access.
  default_role_id uuid REFERENCES roles ON DELETE SET NULL,
  -- Whoever saved the role: whether they may still grant it is checked with each use.
  default_role_by uuid REFERENCES users ON DELETE SET NULL,
  created_by uuid NOT NULL,
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL
);
CREATE INDEX directories_newest ON directories (created_at DESC, id DESC);
CREATE INDEX directories_of_partner ON directories (partner_id, org_id, created_at DESC, id DESC);
CREATE INDEX directories_of_organization ON directories (org_id, created_at DESC, id DESC) WHERE org_id IS NOT NULL;
CREATE UNIQUE INDEX directories_provider ON directories (provider_id) WHERE provider_id IS NOT NULL;
CREATE INDEX directories_default_role ON directories (default_role_id) WHERE default_role_id IS NOT NULL;
CREATE INDEX directories_default_role_by ON directories (default_role_by) WHERE default_role_by IS NOT NULL;

CREATE TABLE directory_tokens (
  id uuid PRIMARY KEY,
  directory_id uuid NOT NULL REFERENCES directories ON DELETE CASCADE,
  partner_id uuid NOT NULL,
  org_id uuid,
  -- SHA-256 of the token, which is 256 random bits.
  digest bytea NOT NULL UNIQUE,
  prefix varchar(12) NOT NULL,
  created_at timestamptz(3) NOT NULL,
  -- End of the grace period after a rotation; null: until it is revoked, which deletes the row.
  expires_at timestamptz(3)
);
CREATE INDEX directory_tokens_of_directory ON directory_tokens (directory_id, created_at DESC, id DESC);

ALTER TABLE directories ENABLE ROW LEVEL SECURITY;
ALTER TABLE directory_tokens ENABLE ROW LEVEL SECURITY;
CALL policy('directories_tenant', 'directories', 'all', 'tenant');
CALL policy('directory_tokens_tenant', 'directory_tokens', 'all', 'tenant');

-- Requests of directories are counted by the hour as those of other credentials.
ALTER TABLE rate_hours DROP CONSTRAINT rate_hours_kind_check;
ALTER TABLE rate_hours ADD CONSTRAINT rate_hours_kind_check CHECK (kind IN ('key', 'session', 'agent', 'directory'));
