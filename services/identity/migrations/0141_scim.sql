-- What directories provision by SCIM: documents of users, groups, and members of groups as a set (docs/directory.md).
CREATE TABLE scim_users (
  user_id uuid PRIMARY KEY REFERENCES users ON DELETE CASCADE,
  directory_id uuid NOT NULL REFERENCES directories ON DELETE CASCADE,
  partner_id uuid NOT NULL,
  org_id uuid,
  -- In lower case: names are unique whatever their case. A column, since row-level security keeps indexes over functions unused.
  user_name_key text NOT NULL,
  external_id text,
  -- E-mail addresses in lower case.
  emails text[] NOT NULL,
  -- As the directory says; the account is also disabled while no role mapping matches it.
  active boolean NOT NULL,
  document jsonb NOT NULL,
  version bigint NOT NULL DEFAULT 1,
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL
);
CREATE UNIQUE INDEX scim_users_name ON scim_users (directory_id, user_name_key);
CREATE UNIQUE INDEX scim_users_external ON scim_users (directory_id, external_id) WHERE external_id IS NOT NULL;
CREATE INDEX scim_users_in_order ON scim_users (directory_id, created_at, user_id);

CREATE TABLE scim_groups (
  id uuid PRIMARY KEY,
  directory_id uuid NOT NULL REFERENCES directories ON DELETE CASCADE,
  partner_id uuid NOT NULL,
  org_id uuid,
  display_name text NOT NULL,
  display_name_key text NOT NULL,
  external_id text,
  version bigint NOT NULL DEFAULT 1,
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL
);
CREATE UNIQUE INDEX scim_groups_name ON scim_groups (directory_id, display_name_key);
CREATE UNIQUE INDEX scim_groups_external ON scim_groups (directory_id, external_id) WHERE external_id IS NOT NULL;
CREATE INDEX scim_groups_in_order ON scim_groups (directory_id, created_at, id);

CREATE TABLE scim_members (
  group_id uuid NOT NULL REFERENCES scim_groups ON DELETE CASCADE,
  user_id uuid NOT NULL REFERENCES scim_users ON DELETE CASCADE,
  directory_id uuid NOT NULL,
  partner_id uuid NOT NULL,
  org_id uuid,
  PRIMARY KEY (group_id, user_id)
);
CREATE INDEX scim_members_user ON scim_members (user_id, group_id);

-- Rows in their order: the first that matches decides the role.
CREATE TABLE role_mappings (
  id uuid PRIMARY KEY,
  directory_id uuid NOT NULL REFERENCES directories ON DELETE CASCADE,
  partner_id uuid NOT NULL,
  org_id uuid,
  position integer NOT NULL,
  -- One of the two: a group of the directory, or a value that its provider sends as a claim.
  group_id uuid REFERENCES scim_groups ON DELETE CASCADE,
  claim varchar(255),
  role_id uuid NOT NULL REFERENCES roles ON DELETE CASCADE,
  -- Null: all sites.
  site_ids uuid[],
  -- Whoever saved the row: it is inert while they may not grant its role.
  granted_by uuid REFERENCES users ON DELETE SET NULL,
  created_at timestamptz(3) NOT NULL,
  CHECK (num_nonnulls(group_id, claim) = 1)
);
CREATE UNIQUE INDEX role_mappings_in_order ON role_mappings (directory_id, position);
CREATE INDEX role_mappings_group ON role_mappings (group_id) WHERE group_id IS NOT NULL;
CREATE INDEX role_mappings_role ON role_mappings (role_id);
CREATE INDEX role_mappings_granted_by ON role_mappings (granted_by) WHERE granted_by IS NOT NULL;

-- Groups that the provider named at the last sign-in.
ALTER TABLE sso_identities ADD COLUMN claim_groups text[];

ALTER TABLE scim_users ENABLE ROW LEVEL SECURITY;
ALTER TABLE scim_groups ENABLE ROW LEVEL SECURITY;
ALTER TABLE scim_members ENABLE ROW LEVEL SECURITY;
ALTER TABLE role_mappings ENABLE ROW LEVEL SECURITY;
CALL policy('scim_users_tenant', 'scim_users', 'all', 'tenant');
CALL policy('scim_groups_tenant', 'scim_groups', 'all', 'tenant');
CALL policy('scim_members_tenant', 'scim_members', 'all', 'tenant');
CALL policy('role_mappings_tenant', 'role_mappings', 'all', 'tenant');
