-- Users whose role is evaluated again after a change that concerns many: in batches, whatever ends in between.
CREATE TABLE pending_roles (
  directory_id uuid NOT NULL REFERENCES directories ON DELETE CASCADE,
  user_id uuid NOT NULL,
  partner_id uuid NOT NULL,
  org_id uuid,
  cause text NOT NULL,
  created_at timestamptz(3) NOT NULL,
  PRIMARY KEY (directory_id, user_id)
);

ALTER TABLE pending_roles ENABLE ROW LEVEL SECURITY;
CALL policy('pending_roles_tenant', 'pending_roles', 'all', 'tenant');
