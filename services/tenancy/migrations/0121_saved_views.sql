-- Named queries of lists: of one user, or shared with all who reach the tenant. One without an organization belongs to a
-- partner, one without a partner to the platform.
CREATE TABLE saved_views (
  id uuid PRIMARY KEY,
  org_id uuid,
  partner_id uuid REFERENCES partners (id) CHECK (org_id IS NULL OR partner_id IS NOT NULL),
  owner_id uuid NOT NULL,
  name varchar(255) NOT NULL CHECK (name <> ''),
  resource varchar(50) NOT NULL CHECK (resource ~ '^[a-z][a-z-]*$'),
  query jsonb NOT NULL,
  shared boolean NOT NULL,
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL,
  FOREIGN KEY (org_id, partner_id) REFERENCES organizations (id, partner_id)
);

CREATE INDEX saved_views_of_owner ON saved_views (owner_id, name, id);
CREATE INDEX saved_views_of_organization ON saved_views (org_id, name, id) WHERE shared;
CREATE INDEX saved_views_of_partner ON saved_views (partner_id, name, id) WHERE shared;
CREATE INDEX saved_views_by_name ON saved_views (name, id);

ALTER TABLE saved_views ENABLE ROW LEVEL SECURITY;
CALL policy('saved_views_tenant', 'saved_views', 'all', 'tenant');
