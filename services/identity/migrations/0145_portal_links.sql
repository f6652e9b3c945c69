-- Links to the webhook portal (docs/webhooks/portal.md): a code that is exchanged once for the token of one session.
CREATE TABLE portal_links (
  id uuid PRIMARY KEY,
  org_id uuid NOT NULL,
  partner_id uuid NOT NULL,
  name varchar(255) NOT NULL,
  capabilities text[] NOT NULL,
  embed_origins text[] NOT NULL,
  refresh_url text,
  -- SHA-256 of 256 random bits each; the token's is there once the code was exchanged.
  code_digest bytea NOT NULL UNIQUE,
  token_digest bytea UNIQUE,
  author_type text NOT NULL CHECK (author_type IN ('user', 'api_key')),
  author_id uuid NOT NULL,
  author_name text,
  created_at timestamptz(3) NOT NULL,
  -- End of the code and of the session.
  expires_at timestamptz(3) NOT NULL,
  opened_at timestamptz(3),
  revoked_at timestamptz(3),
  CHECK ((token_digest IS NULL) = (opened_at IS NULL))
);
CREATE INDEX portal_links_newest ON portal_links (created_at DESC, id DESC);
CREATE INDEX portal_links_of_partner ON portal_links (partner_id, created_at DESC, id DESC);
CREATE INDEX portal_links_of_organization ON portal_links (org_id, created_at DESC, id DESC);
CREATE INDEX portal_links_expiry ON portal_links (expires_at);

ALTER TABLE portal_links ENABLE ROW LEVEL SECURITY;
CALL policy('portal_links_tenant', 'portal_links', 'all', 'organization');
