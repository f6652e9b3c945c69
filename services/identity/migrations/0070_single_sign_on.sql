-- Single sign-on: providers of organizations and of partners, round trips under way, links of people, verified domains, branding.
CREATE TABLE sso_providers (
  id uuid PRIMARY KEY,
  partner_id uuid NOT NULL,
  -- Null: the partner's own, for its own people.
  org_id uuid,
  name varchar(255) NOT NULL,
  type text NOT NULL CHECK (type IN ('oidc', 'saml')),
  status text NOT NULL DEFAULT 'inactive' CHECK (status IN ('inactive', 'testing', 'active')),
  preset text,
  issuer varchar(500),
  client_id varchar(500),
  client_secret_sealed bytea,
  scopes varchar(500) NOT NULL,
  -- {email, name, firstName?, lastName?, groups?}; null: the default of the preset or the type.
  attribute_mapping jsonb,
  auto_provision boolean NOT NULL DEFAULT true,
  default_role_id uuid REFERENCES roles ON DELETE SET NULL,
  -- Whoever saved the role: what they may grant is judged again with each new person.
  default_role_by uuid REFERENCES users ON DELETE SET NULL,
  allowed_domains text[] NOT NULL DEFAULT '{}',
  enforce_sso boolean NOT NULL DEFAULT false,
  -- An administrator of the place has signed in through it as it is now: before that nothing is enforced.
  proven_at timestamptz(3),
  trust_idp_mfa boolean NOT NULL DEFAULT false,
  -- Set by hand; null: as discovered.
  authorization_url varchar(500),
  token_url varchar(500),
  user_info_url varchar(500),
  jwks_url varchar(500),
  -- What discovery found, as far as sign-in needs it.
  discovered jsonb,
  saml_entity_id varchar(1024),
  saml_sso_url varchar(500),
  -- [{pem, fingerprint, notBefore, notAfter, source, goneAt?}]
  saml_certificates jsonb NOT NULL DEFAULT '[]',
  saml_metadata_url varchar(500),
  saml_metadata_at timestamptz(3),
  saml_metadata_error text,
  saml_want_encrypted boolean NOT NULL DEFAULT false,
  -- Our own key pair for this provider: signs nothing, opens encrypted assertions.
  saml_key_sealed bytea,
  saml_sp_certificate text,
  -- Bumped with each change: a sign-in that began before it ends at the callback.
  generation integer NOT NULL DEFAULT 1,
  created_by uuid NOT NULL,
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL
);
CREATE INDEX sso_providers_newest ON sso_providers (created_at DESC, id DESC);
CREATE INDEX sso_providers_of_partner ON sso_providers (partner_id, org_id, created_at, id);
CREATE INDEX sso_providers_of_organization ON sso_providers (org_id, created_at, id) WHERE org_id IS NOT NULL;
CREATE INDEX sso_providers_default_role ON sso_providers (default_role_id) WHERE default_role_id IS NOT NULL;
CREATE INDEX sso_providers_default_role_by ON sso_providers (default_role_by) WHERE default_role_by IS NOT NULL;

-- Round trips to a provider. A row that was used stays without its secrets until it is cleaned up: who comes with it again is known.
CREATE TABLE sso_login_sessions (
  state_hash bytea PRIMARY KEY,
  provider_id uuid NOT NULL REFERENCES sso_providers ON DELETE CASCADE,
  generation integer NOT NULL,
  kind text NOT NULL CHECK (kind IN ('login', 'link')),
  -- Of a link.
  user_id uuid REFERENCES users ON DELETE CASCADE,
  session_id uuid,
  redirect_url varchar(500) NOT NULL,
  -- Of the AuthnRequest (SAML).
  request_id text,
  -- Nonce and verifier, or the result of an assertion, sealed.
  secrets_sealed bytea,
  -- SHA-256 of the one-time handle under which a checked assertion waits for its browser.
  handle_hash bytea,
  created_at timestamptz(3) NOT NULL,
  expires_at timestamptz(3) NOT NULL,
  consumed_at timestamptz(3)
);
CREATE INDEX sso_login_sessions_of_provider ON sso_login_sessions (provider_id, expires_at);
CREATE INDEX sso_login_sessions_user ON sso_login_sessions (user_id) WHERE user_id IS NOT NULL;
CREATE INDEX sso_login_sessions_expiry ON sso_login_sessions (expires_at);

CREATE TABLE sso_identities (
  provider_id uuid NOT NULL REFERENCES sso_providers ON DELETE CASCADE,
  user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
  partner_id uuid NOT NULL,
  org_id uuid,
  -- `sub`, or the NameID.
  external_id varchar(1024) NOT NULL,
  email varchar(255),
  profile jsonb NOT NULL DEFAULT '{}',
  -- The provider's access and refresh token, sealed.
  tokens_sealed bytea,
  token_expires_at timestamptz(3),
  last_login_at timestamptz(3),
  created_at timestamptz(3) NOT NULL,
  PRIMARY KEY (provider_id, user_id),
  CONSTRAINT sso_identities_external UNIQUE (provider_id, external_id)
);
CREATE INDEX sso_identities_user ON sso_identities (user_id);

CREATE TABLE sso_exchange_codes (
  code_hash bytea PRIMARY KEY,
  user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
  provider_id uuid NOT NULL REFERENCES sso_providers ON DELETE CASCADE,
  generation integer NOT NULL,
  -- The provider saw a second factor, and is trusted with that.
  mfa boolean NOT NULL,
  created_at timestamptz(3) NOT NULL,
  expires_at timestamptz(3) NOT NULL
);
CREATE INDEX sso_exchange_codes_expiry ON sso_exchange_codes (expires_at);
CREATE INDEX sso_exchange_codes_provider ON sso_exchange_codes (provider_id);
CREATE INDEX sso_exchange_codes_user ON sso_exchange_codes (user_id);

-- Assertions that were accepted: none is accepted twice.
CREATE TABLE sso_assertions (
  provider_id uuid NOT NULL REFERENCES sso_providers ON DELETE CASCADE,
  assertion_hash bytea NOT NULL,
  expires_at timestamptz(3) NOT NULL,
  PRIMARY KEY (provider_id, assertion_hash)
);
CREATE INDEX sso_assertions_expiry ON sso_assertions (expires_at);

-- The newest sign-ins of each provider with the check that ended them, for its administrators.
CREATE TABLE sso_attempts (
  id uuid PRIMARY KEY,
  provider_id uuid NOT NULL REFERENCES sso_providers ON DELETE CASCADE,
  partner_id uuid NOT NULL,
  org_id uuid,
  kind text NOT NULL CHECK (kind IN ('login', 'link')),
  outcome text NOT NULL CHECK (outcome IN ('success', 'failure')),
  step text NOT NULL,
  reason text,
  detail varchar(4096),
  email varchar(255),
  address varchar(45),
  user_agent text,
  request_id text,
  created_at timestamptz(3) NOT NULL
);
CREATE INDEX sso_attempts_newest ON sso_attempts (provider_id, created_at DESC, id DESC);

CREATE TABLE sso_domains (
  id uuid PRIMARY KEY,
  partner_id uuid NOT NULL,
  -- Null: the partner's own.
  org_id uuid,
  -- ASCII, lower case.
  domain varchar(253) NOT NULL,
  -- Value of the TXT record; public by nature.
  token text NOT NULL,
  verified_at timestamptz(3),
  last_checked_at timestamptz(3),
  last_error text,
  created_by uuid NOT NULL,
  created_at timestamptz(3) NOT NULL
);
CREATE UNIQUE INDEX sso_domains_in_place ON sso_domains (coalesce(org_id, partner_id), domain);
CREATE UNIQUE INDEX sso_domains_verified ON sso_domains (domain) WHERE verified_at IS NOT NULL;
CREATE INDEX sso_domains_newest ON sso_domains (created_at DESC, id DESC);
CREATE INDEX sso_domains_of_partner ON sso_domains (partner_id, created_at DESC, id DESC);
CREATE INDEX sso_domains_of_organization ON sso_domains (org_id, created_at DESC, id DESC) WHERE org_id IS NOT NULL;
CREATE INDEX sso_domains_checked ON sso_domains (last_checked_at) WHERE verified_at IS NOT NULL;

CREATE TABLE login_branding (
  partner_id uuid PRIMARY KEY,
  logo_url text,
  accent_color varchar(7) CHECK (accent_color ~ '^#[0-9a-fA-F]{6}$'),
  headline varchar(120),
  updated_at timestamptz(3) NOT NULL
);

ALTER TABLE sessions
  ADD COLUMN began_by text NOT NULL DEFAULT 'password' CHECK (began_by IN ('password', 'sso')),
  ADD COLUMN sso_provider_id uuid;

ALTER TABLE sso_providers ENABLE ROW LEVEL SECURITY;
ALTER TABLE sso_login_sessions ENABLE ROW LEVEL SECURITY;
ALTER TABLE sso_identities ENABLE ROW LEVEL SECURITY;
ALTER TABLE sso_exchange_codes ENABLE ROW LEVEL SECURITY;
ALTER TABLE sso_assertions ENABLE ROW LEVEL SECURITY;
ALTER TABLE sso_attempts ENABLE ROW LEVEL SECURITY;
ALTER TABLE sso_domains ENABLE ROW LEVEL SECURITY;
ALTER TABLE login_branding ENABLE ROW LEVEL SECURITY;

CREATE POLICY sso_providers_tenant ON sso_providers FOR ALL
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

CREATE POLICY sso_attempts_tenant ON sso_attempts FOR ALL
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

CREATE POLICY sso_domains_tenant ON sso_domains FOR ALL
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

CREATE POLICY sso_login_sessions_system ON sso_login_sessions
  USING ((SELECT current_setting('app.scope', true)) = 'system');

CREATE POLICY sso_exchange_codes_system ON sso_exchange_codes
  USING ((SELECT current_setting('app.scope', true)) = 'system');

CREATE POLICY sso_assertions_system ON sso_assertions
  USING ((SELECT current_setting('app.scope', true)) = 'system');

-- A link is its person's; an administrator sees none.
CREATE POLICY sso_identities_own ON sso_identities FOR ALL USING (
  (SELECT current_setting('app.scope', true)) = 'system'
  OR ((SELECT current_setting('app.scope', true)) <> ''
      AND user_id::text = (SELECT current_setting('app.actor_id', true))));

CREATE POLICY login_branding_partner ON login_branding FOR ALL
  USING (
    (SELECT current_setting('app.scope', true)) = 'system'
    OR ((SELECT current_setting('app.scope', true)) = 'partner'
        AND partner_id = (SELECT nullif(current_setting('app.partner_id', true), '')::uuid)));

-- Whether a provider that enforces single sign-on governs the person, and how a session began.
GRANT SELECT (partner_id, org_id, status, enforce_sso, proven_at) ON sso_providers TO muster_identity_lookup;
CREATE POLICY sso_providers_lookup ON sso_providers FOR SELECT TO muster_identity_lookup USING (true);

ALTER TYPE session_state ADD ATTRIBUTE began_by text;
CREATE OR REPLACE FUNCTION find_session(wanted_session uuid) RETURNS SETOF session_state
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = identity, pg_temp AS $$
  SELECT id, user_id, generation, family_secret, mfa_at, rotated_at, idle_expires_at, expires_at, revoked_at, began_by
  FROM identity.sessions WHERE id = wanted_session
$$;

ALTER TYPE user_principal ADD ATTRIBUTE sso_enforced boolean;
CREATE OR REPLACE FUNCTION find_principal(wanted_user uuid) RETURNS SETOF user_principal
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = identity, pg_temp AS $$
  SELECT u.id, u.email, u.name, u.department, coalesce(r.key, r.name), r.permissions, u.scope, u.partner_id, u.org_id,
         u.org_access,
         (SELECT coalesce(array_agg(g.org_id ORDER BY g.org_id), '{}') FROM identity.user_organizations g
          WHERE g.user_id = u.id),
         u.status, u.version, u.mfa_enabled, u.site_restricted,
         (SELECT coalesce(array_agg(s.site_id ORDER BY s.site_id), '{}') FROM identity.user_sites s
          WHERE s.user_id = u.id),
         -- "unknown" while the copy has no row: nobody is let in on what is not known.
         CASE WHEN u.partner_id IS NOT NULL THEN coalesce(
           (SELECT CASE WHEN t.deleted THEN 'deleted' ELSE t.status END FROM identity.tenant t
            WHERE t.kind = 'partner' AND t.id = u.partner_id), 'unknown') END,
         CASE WHEN u.org_id IS NOT NULL THEN coalesce(
           (SELECT CASE WHEN t.deleted THEN 'deleted' ELSE t.status END FROM identity.tenant t
            WHERE t.kind = 'organization' AND t.id = u.org_id), 'unknown') END,
         EXISTS (SELECT FROM identity.sso_providers p
                 WHERE p.partner_id = u.partner_id AND p.org_id IS NOT DISTINCT FROM u.org_id
                   AND p.status = 'active' AND p.enforce_sso AND p.proven_at IS NOT NULL)
  FROM identity.users u JOIN identity.roles r ON r.id = u.role_id
  WHERE u.id = wanted_user
$$;
