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
  updated_at timestamptz(3) NOT NULL,
  description varchar(1000) NOT NULL DEFAULT ''
);
CREATE UNIQUE INDEX roles_name_of_partner ON roles (partner_id, lower(name)) WHERE partner_id IS NOT NULL AND org_id IS NULL;
CREATE UNIQUE INDEX roles_name_of_organization ON roles (org_id, lower(name)) WHERE org_id IS NOT NULL;
CREATE INDEX roles_by_name ON roles ((key IS NULL), name, id);
CREATE INDEX roles_of_partner ON roles (partner_id, name, id) WHERE partner_id IS NOT NULL;

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
  mfa_enabled boolean NOT NULL DEFAULT false,
  -- Whether the person is limited to the sites of user_sites; stays when the last of them is gone.
  site_restricted boolean NOT NULL DEFAULT false,
  CHECK ((scope = 'system') = (partner_id IS NULL)),
  CHECK ((scope = 'organization') = (org_id IS NOT NULL))
);
-- An address is one account's over the deployment. Invitations wait beside it: a tenant that invites an address learns nothing
-- of another tenant's account (docs/decisions/0011-invited-addresses.md).
CREATE UNIQUE INDEX users_email ON users (lower(email)) WHERE status = 'active' OR password_hash IS NOT NULL;
CREATE UNIQUE INDEX users_email_in_place ON users
  (coalesce(org_id, partner_id, '00000000-0000-0000-0000-000000000000'), lower(email));
CREATE INDEX users_by_email ON users (lower(email));
CREATE INDEX users_partner ON users (partner_id, org_id);
CREATE INDEX users_newest ON users (created_at DESC, id DESC);
CREATE INDEX users_of_partner_newest ON users (partner_id, created_at DESC, id DESC);
CREATE INDEX users_of_organization_newest ON users (org_id, created_at DESC, id DESC) WHERE org_id IS NOT NULL;
CREATE INDEX users_of_role_newest ON users (role_id, created_at DESC, id DESC);
CREATE INDEX users_of_partner_by_status ON users (partner_id, status, created_at DESC, id DESC);
CREATE INDEX users_of_organization_by_status ON users (org_id, status, created_at DESC, id DESC) WHERE org_id IS NOT NULL;

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
-- What a gateway that was away must know.
CREATE INDEX sessions_revoked ON sessions (revoked_at) WHERE revoked_at IS NOT NULL;
-- Ending every session of a tenant must not read those of all the others.
CREATE INDEX sessions_tenant ON sessions (partner_id, org_id) WHERE revoked_at IS NULL;
CREATE INDEX sessions_organization ON sessions (org_id) WHERE revoked_at IS NULL;

ALTER TABLE roles ENABLE ROW LEVEL SECURITY;
ALTER TABLE users ENABLE ROW LEVEL SECURITY;
ALTER TABLE user_organizations ENABLE ROW LEVEL SECURITY;
ALTER TABLE sessions ENABLE ROW LEVEL SECURITY;

-- Seeded roles are everybody's to see. A partner's person sees the roles of the organizations they reach; an organization's people see
-- their partner's roles for organizations, which they may have.
CREATE POLICY roles_read ON roles FOR SELECT USING (
  (SELECT current_setting('app.scope', true)) = 'system'
  OR ((SELECT current_setting('app.scope', true)) IN ('partner', 'organization') AND key IS NOT NULL)
  OR ((SELECT current_setting('app.scope', true)) = 'partner'
      AND partner_id = (SELECT nullif(current_setting('app.partner_id', true), '')::uuid)
      AND (org_id IS NULL
           OR (SELECT current_setting('app.org_access', true)) = 'all'
           OR org_id = ANY ((SELECT nullif(current_setting('app.org_ids', true), '')::uuid[])::uuid[])))
  OR ((SELECT current_setting('app.scope', true)) = 'organization'
      AND (org_id = (SELECT nullif(current_setting('app.org_id', true), '')::uuid)
           OR (org_id IS NULL AND scope = 'organization'
               AND partner_id = (SELECT nullif(current_setting('app.partner_id', true), '')::uuid))))
);
-- Seeded roles have no partner: only the service itself writes them.
CREATE POLICY roles_add ON roles FOR INSERT WITH CHECK (
  ((SELECT current_setting('app.scope', true)) = 'partner'
    AND partner_id = (SELECT nullif(current_setting('app.partner_id', true), '')::uuid)
    AND (org_id IS NULL
         OR (SELECT current_setting('app.org_access', true)) = 'all'
         OR org_id = ANY ((SELECT nullif(current_setting('app.org_ids', true), '')::uuid[])::uuid[])))
  OR ((SELECT current_setting('app.scope', true)) = 'organization'
      AND org_id = (SELECT nullif(current_setting('app.org_id', true), '')::uuid))
);
-- A partner's role reaches into all of its organizations: it is changed by those who do.
CREATE POLICY roles_change ON roles FOR UPDATE USING (
  ((SELECT current_setting('app.scope', true)) = 'partner'
    AND partner_id = (SELECT nullif(current_setting('app.partner_id', true), '')::uuid)
    AND ((SELECT current_setting('app.org_access', true)) = 'all'
         OR org_id = ANY ((SELECT nullif(current_setting('app.org_ids', true), '')::uuid[])::uuid[])))
  OR ((SELECT current_setting('app.scope', true)) = 'organization'
      AND org_id = (SELECT nullif(current_setting('app.org_id', true), '')::uuid))
);
CREATE POLICY roles_remove ON roles FOR DELETE USING (
  ((SELECT current_setting('app.scope', true)) = 'partner'
    AND partner_id = (SELECT nullif(current_setting('app.partner_id', true), '')::uuid)
    AND ((SELECT current_setting('app.org_access', true)) = 'all'
         OR org_id = ANY ((SELECT nullif(current_setting('app.org_ids', true), '')::uuid[])::uuid[])))
  OR ((SELECT current_setting('app.scope', true)) = 'organization'
      AND org_id = (SELECT nullif(current_setting('app.org_id', true), '')::uuid))
);
CALL policy('roles_write', 'roles', 'all', 'system');

CALL policy('users_tenant', 'users', 'all', 'tenant');

CREATE POLICY user_organizations_tenant ON user_organizations FOR ALL
  USING (
    (SELECT current_setting('app.scope', true)) = 'system'
    OR ((SELECT current_setting('app.scope', true)) = 'partner'
        AND partner_id = (SELECT nullif(current_setting('app.partner_id', true), '')::uuid))
  );

CALL policy('sessions_tenant', 'sessions', 'all', 'tenant');

CREATE TABLE user_sites (
  user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
  site_id uuid NOT NULL,
  partner_id uuid NOT NULL,
  -- Of the person, null for a partner's.
  org_id uuid,
  PRIMARY KEY (user_id, site_id)
);

CREATE TABLE invites (
  id uuid PRIMARY KEY,
  user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
  partner_id uuid,
  org_id uuid,
  -- SHA-256: the token itself is 256 random bits.
  token_hash bytea NOT NULL UNIQUE,
  created_at timestamptz(3) NOT NULL,
  expires_at timestamptz(3) NOT NULL,
  accepted_at timestamptz(3)
);
CREATE INDEX invites_user ON invites (user_id);

CREATE TABLE user_totp (
  user_id uuid PRIMARY KEY REFERENCES users ON DELETE CASCADE,
  -- Sealed under SECRET_ENCRYPTION_KEY.
  secret bytea NOT NULL,
  -- Null until a first code proved that the secret arrived.
  confirmed_at timestamptz(3),
  -- Number of the newest 30 s step whose code was used (RFC 6238, section 5.2): none is accepted twice.
  last_step bigint NOT NULL DEFAULT 0,
  created_at timestamptz(3) NOT NULL
);

CREATE TABLE recovery_codes (
  user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
  -- SHA-256: each code is 80 random bits.
  code_hash bytea NOT NULL,
  used_at timestamptz(3),
  PRIMARY KEY (user_id, code_hash)
);

-- A password was right and the second factor is still to come.
CREATE TABLE mfa_challenges (
  id uuid PRIMARY KEY,
  user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
  token_hash bytea NOT NULL UNIQUE,
  failures integer NOT NULL DEFAULT 0,
  created_at timestamptz(3) NOT NULL,
  expires_at timestamptz(3) NOT NULL,
  completed_at timestamptz(3)
);
CREATE INDEX mfa_challenges_user ON mfa_challenges (user_id, expires_at);

-- One row per person and minute with a failed sign-in: the first of them is audited.
CREATE TABLE failed_logins (
  user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
  minute timestamptz(0) NOT NULL,
  failures integer NOT NULL,
  PRIMARY KEY (user_id, minute)
);

ALTER TABLE user_sites ENABLE ROW LEVEL SECURITY;
ALTER TABLE invites ENABLE ROW LEVEL SECURITY;
ALTER TABLE user_totp ENABLE ROW LEVEL SECURITY;
ALTER TABLE recovery_codes ENABLE ROW LEVEL SECURITY;
ALTER TABLE mfa_challenges ENABLE ROW LEVEL SECURITY;
ALTER TABLE failed_logins ENABLE ROW LEVEL SECURITY;

CALL policy('user_sites_tenant', 'user_sites', 'all', 'tenant');
CALL policy('invites_tenant', 'invites', 'all', 'tenant');

-- Second factors are their person's alone; an administrator sees users.mfa_enabled. (The actor of a service is no UUID.)
CALL policy('user_totp_own', 'user_totp', 'all', 'person');
CALL policy('recovery_codes_own', 'recovery_codes', 'all', 'person');
CALL policy('mfa_challenges_own', 'mfa_challenges', 'all', 'person');
CALL policy('failed_logins_own', 'failed_logins', 'all', 'person');

-- What is asked before there is a caller: narrow functions of the lookup role, and nothing else sees across tenants.
GRANT SELECT (id, email, password_hash, status) ON users TO muster_identity_lookup;
GRANT SELECT (name, department, scope, partner_id, org_id, role_id, org_access, version, mfa_enabled, site_restricted) ON users
  TO muster_identity_lookup;
GRANT SELECT (id, key, name, permissions) ON roles TO muster_identity_lookup;
GRANT SELECT (user_id, org_id) ON user_organizations TO muster_identity_lookup;
GRANT SELECT ON sessions TO muster_identity_lookup;

CALL policy('users_lookup', 'users', 'select', 'everyone', 'muster_identity_lookup');
CALL policy('roles_lookup', 'roles', 'select', 'everyone', 'muster_identity_lookup');
CALL policy('user_organizations_lookup', 'user_organizations', 'select', 'everyone', 'muster_identity_lookup');
CALL policy('sessions_lookup', 'sessions', 'select', 'everyone', 'muster_identity_lookup');

CREATE TYPE login_candidate AS (user_id uuid, password_hash text, status text);
CREATE TYPE session_state AS (
  session_id uuid, user_id uuid, generation integer, family_secret bytea, mfa_at timestamptz, rotated_at timestamptz,
  idle_expires_at timestamptz, expires_at timestamptz, revoked_at timestamptz
);
CREATE TYPE user_principal AS (
  user_id uuid, email text, name text, department text, role text, permissions text[], scope text, partner_id uuid,
  org_id uuid, org_access text, org_ids uuid[], status text, version integer, mfa_enabled boolean, site_restricted boolean,
  site_ids uuid[], partner_status text, org_status text
);

CREATE FUNCTION find_login(wanted_email text) RETURNS SETOF login_candidate
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = identity, pg_temp AS $$
  SELECT id, password_hash, status FROM identity.users WHERE lower(email) = lower(wanted_email)
$$;

CREATE FUNCTION find_session(wanted_session uuid) RETURNS SETOF session_state
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = identity, pg_temp AS $$
  SELECT id, user_id, generation, family_secret, mfa_at, rotated_at, idle_expires_at, expires_at, revoked_at
  FROM identity.sessions WHERE id = wanted_session
$$;

CREATE FUNCTION find_principal(wanted_user uuid) RETURNS SETOF user_principal
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
            WHERE t.kind = 'organization' AND t.id = u.org_id), 'unknown') END
  FROM identity.users u JOIN identity.roles r ON r.id = u.role_id
  WHERE u.id = wanted_user
$$;

REVOKE ALL ON FUNCTION find_login(text), find_session(uuid), find_principal(uuid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION find_login(text), find_session(uuid), find_principal(uuid) TO muster_identity_app;

ALTER FUNCTION find_login(text) OWNER TO muster_identity_lookup;
ALTER FUNCTION find_session(uuid) OWNER TO muster_identity_lookup;
ALTER FUNCTION find_principal(uuid) OWNER TO muster_identity_lookup;

GRANT SELECT (user_id, site_id) ON user_sites TO muster_identity_lookup;
GRANT SELECT (id, user_id, token_hash, expires_at, accepted_at) ON invites TO muster_identity_lookup;
GRANT SELECT (id, user_id, token_hash, expires_at, completed_at) ON mfa_challenges TO muster_identity_lookup;
GRANT SELECT (kind, id, status, deleted) ON tenant TO muster_identity_lookup;

CALL policy('user_sites_lookup', 'user_sites', 'select', 'everyone', 'muster_identity_lookup');
CALL policy('invites_lookup', 'invites', 'select', 'everyone', 'muster_identity_lookup');
CALL policy('mfa_challenges_lookup', 'mfa_challenges', 'select', 'everyone', 'muster_identity_lookup');
CALL policy('tenant_lookup', 'tenant', 'select', 'everyone', 'muster_identity_lookup');

CREATE TYPE token_holder AS (id uuid, user_id uuid, expires_at timestamptz, used_at timestamptz);

CREATE FUNCTION find_invite(wanted_hash bytea) RETURNS SETOF token_holder
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = identity, pg_temp AS $$
  SELECT id, user_id, expires_at, accepted_at FROM identity.invites WHERE token_hash = wanted_hash
$$;

CREATE FUNCTION find_mfa_challenge(wanted_hash bytea) RETURNS SETOF token_holder
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = identity, pg_temp AS $$
  SELECT id, user_id, expires_at, completed_at FROM identity.mfa_challenges WHERE token_hash = wanted_hash
$$;

REVOKE ALL ON FUNCTION find_invite(bytea), find_mfa_challenge(bytea) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION find_invite(bytea), find_mfa_challenge(bytea) TO muster_identity_app;
ALTER FUNCTION find_invite(bytea) OWNER TO muster_identity_lookup;
ALTER FUNCTION find_mfa_challenge(bytea) OWNER TO muster_identity_lookup;

-- Failures that count towards a limit: of second factors per person, of sign-ins per address and account, of unknown keys
-- per address.
CREATE TABLE failed_attempts (
  -- SHA-256 of what is limited: e-mails of strangers are not kept.
  bucket bytea PRIMARY KEY,
  -- Whose second factor it is about; null for what strangers try.
  user_id uuid REFERENCES users ON DELETE CASCADE,
  -- The newest failures, oldest first; never more than the limit.
  failed_at timestamptz(3)[] NOT NULL,
  -- When none of them counts any more.
  expires_at timestamptz(3) NOT NULL
) WITH (fillfactor = 70);
CREATE INDEX failed_attempts_expiry ON failed_attempts (expires_at);
CREATE INDEX failed_attempts_user ON failed_attempts (user_id) WHERE user_id IS NOT NULL;

ALTER TABLE failed_attempts ENABLE ROW LEVEL SECURITY;
CALL policy('failed_attempts_system', 'failed_attempts', 'all', 'system');
CALL policy('failed_attempts_own', 'failed_attempts', 'all', 'person');

CREATE TYPE email_holder AS (user_id uuid, partner_id uuid, org_id uuid);
-- Whoever has an address, invited people included. Row-level security keeps tenants from using users_by_email themselves.
CREATE FUNCTION find_email_holders(wanted_email text) RETURNS SETOF email_holder
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = identity, pg_temp AS $$
  SELECT id, partner_id, org_id FROM identity.users WHERE lower(email) = lower(wanted_email)
$$;
REVOKE ALL ON FUNCTION find_email_holders(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION find_email_holders(text) TO muster_identity_app;
ALTER FUNCTION find_email_holders(text) OWNER TO muster_identity_lookup;


-- Refused changes by actor, action and minute: the first of each minute is audited.
CREATE TABLE refusals (
  actor_id text NOT NULL,
  action text NOT NULL,
  minute timestamptz(0) NOT NULL,
  refused integer NOT NULL,
  PRIMARY KEY (actor_id, action, minute)
);
CREATE INDEX refusals_age ON refusals (minute);
ALTER TABLE refusals ENABLE ROW LEVEL SECURITY;
CALL policy('refusals_system', 'refusals', 'all', 'system');

-- Passkeys (WebAuthn level 3) as second factors, and the challenges they answer.
CREATE TABLE passkeys (
  id uuid PRIMARY KEY,
  user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
  -- Chosen by the authenticator, at most 1,023 bytes (section 4, "Credential ID").
  credential_id bytea NOT NULL UNIQUE,
  -- COSE_Key: nothing secret.
  public_key bytea NOT NULL,
  -- Signature counter as last seen; 0 where the authenticator keeps none (synced passkeys).
  counter bigint NOT NULL,
  transports text[] NOT NULL,
  -- Model of the authenticator; zero where it is not told.
  aaguid uuid NOT NULL,
  multi_device boolean NOT NULL,
  backed_up boolean NOT NULL,
  name varchar(255) NOT NULL,
  created_at timestamptz(3) NOT NULL,
  last_used_at timestamptz(3)
);
CREATE INDEX passkeys_user ON passkeys (user_id, created_at);

-- One row per challenge that was handed out; deleted by the first answer to it, right or wrong.
CREATE TABLE passkey_challenges (
  -- SHA-256 of the challenge.
  challenge_hash bytea PRIMARY KEY,
  user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
  purpose text NOT NULL CHECK (purpose IN ('register', 'authenticate')),
  -- What it is for: a session, or a sign-in that waits for its second factor.
  session_id uuid REFERENCES sessions ON DELETE CASCADE,
  mfa_challenge_id uuid REFERENCES mfa_challenges ON DELETE CASCADE,
  expires_at timestamptz(3) NOT NULL,
  CHECK ((session_id IS NULL) <> (mfa_challenge_id IS NULL))
);
CREATE INDEX passkey_challenges_user ON passkey_challenges (user_id, expires_at);
CREATE INDEX passkey_challenges_expiry ON passkey_challenges (expires_at);
CREATE INDEX passkey_challenges_session ON passkey_challenges (session_id);
CREATE INDEX passkey_challenges_sign_in ON passkey_challenges (mfa_challenge_id);

ALTER TABLE passkeys ENABLE ROW LEVEL SECURITY;
ALTER TABLE passkey_challenges ENABLE ROW LEVEL SECURITY;

-- Their person's alone, as the other second factors.
CALL policy('passkeys_own', 'passkeys', 'all', 'person');
CALL policy('passkey_challenges_own', 'passkey_challenges', 'all', 'person');

-- Mail that waits to be sent, and links that set a new password.
CREATE TABLE mail (
  id uuid PRIMARY KEY,
  -- invite, password_reset, password_changed, factor_added; password_reset_request is not a mail yet: it becomes one, or nothing.
  kind text NOT NULL,
  -- Address, text and links, sealed under SECRET_ENCRYPTION_KEY (purpose mail); gone once sent.
  sealed bytea,
  state text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'sent', 'poison')),
  attempts integer NOT NULL DEFAULT 0,
  -- Not before; pushed ahead while somebody is at it.
  next_at timestamptz(3) NOT NULL,
  -- When sending it no longer makes sense.
  expires_at timestamptz(3) NOT NULL,
  created_at timestamptz(3) NOT NULL,
  finished_at timestamptz(3),
  last_error text
);
CREATE INDEX mail_waiting ON mail (next_at) WHERE state = 'waiting';
CREATE INDEX mail_finished ON mail (finished_at) WHERE state <> 'waiting';

CREATE TABLE password_resets (
  id uuid PRIMARY KEY,
  user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
  -- SHA-256: the token itself is 256 random bits.
  token_hash bytea NOT NULL UNIQUE,
  created_at timestamptz(3) NOT NULL,
  expires_at timestamptz(3) NOT NULL,
  used_at timestamptz(3)
);
CREATE INDEX password_resets_user ON password_resets (user_id);
CREATE INDEX password_resets_expiry ON password_resets (expires_at);

ALTER TABLE mail ENABLE ROW LEVEL SECURITY;
ALTER TABLE password_resets ENABLE ROW LEVEL SECURITY;

-- Whoever acts may leave a mail with what they do; only the service itself reads them.
CALL policy('mail_system', 'mail', 'all', 'system');
CREATE POLICY mail_queue ON mail FOR INSERT
  WITH CHECK ((SELECT current_setting('app.scope', true)) IN ('partner', 'organization'));
CALL policy('password_resets_own', 'password_resets', 'all', 'person');
CALL policy('password_resets_system', 'password_resets', 'all', 'system');

-- Before anybody is signed in.
GRANT SELECT (id, user_id, token_hash, expires_at, used_at) ON password_resets TO muster_identity_lookup;
CALL policy('password_resets_lookup', 'password_resets', 'select', 'everyone', 'muster_identity_lookup');
CREATE FUNCTION find_password_reset(wanted_hash bytea) RETURNS SETOF token_holder
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = identity, pg_temp AS $$
  SELECT id, user_id, expires_at, used_at FROM identity.password_resets WHERE token_hash = wanted_hash
$$;
REVOKE ALL ON FUNCTION find_password_reset(bytea) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION find_password_reset(bytea) TO muster_identity_app;
ALTER FUNCTION find_password_reset(bytea) OWNER TO muster_identity_lookup;

-- People are searched by the words of their names and addresses (docs/decisions/0050-search-by-beginnings-of-words.md). The comparisons
-- of an index are leakproof, those of ILIKE and trigrams are not: row-level security would keep them from any index.
CREATE TABLE user_words (
  user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
  -- Lower case. "C", so that beginnings are a range whatever the database's order is.
  word text COLLATE "C" NOT NULL,
  partner_id uuid,
  org_id uuid,
  PRIMARY KEY (user_id, word)
);
CREATE INDEX user_words_everywhere ON user_words (word, user_id);
CREATE INDEX user_words_of_partner ON user_words (partner_id, word, user_id) WHERE partner_id IS NOT NULL;
CREATE INDEX user_words_of_organization ON user_words (org_id, word, user_id) WHERE org_id IS NOT NULL;

ALTER TABLE user_words ENABLE ROW LEVEL SECURITY;
CALL policy('user_words_tenant', 'user_words', 'all', 'tenant');

-- What stands between white space, what stands between other signs in it, and what follows an @.
-- Nothing of the schema is named in it, and no search_path is set: so it is inlined, and a million are filled in minutes, not in hours.
CREATE FUNCTION words_of(name text, email text) RETURNS SETOF text
LANGUAGE sql IMMUTABLE AS $$
  SELECT DISTINCT left(word, 255) FROM unnest(
    regexp_split_to_array(lower(name || ' ' || email), '\s+')
    || regexp_split_to_array(lower(name || ' ' || email), '[^[:alnum:]]+')
    || lower(split_part(email, '@', 2))
  ) AS word WHERE word <> ''
$$;

REVOKE ALL ON FUNCTION words_of(text, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION words_of(text, text) TO muster_identity_app;

CREATE FUNCTION keep_user_words() RETURNS trigger LANGUAGE plpgsql SET search_path = identity, pg_temp AS $$
BEGIN
  DELETE FROM user_words WHERE user_id = NEW.id;
  INSERT INTO user_words (user_id, word, partner_id, org_id)
    SELECT DISTINCT NEW.id, word, NEW.partner_id, NEW.org_id FROM words_of(NEW.name, NEW.email) AS word;
  RETURN NULL;
END $$;
CREATE TRIGGER users_words AFTER INSERT OR UPDATE OF name, email, partner_id, org_id ON users
  FOR EACH ROW EXECUTE FUNCTION keep_user_words();

-- Credentials of programs: API keys, service principals and enrollment keys; what gateways hold leases on.
CREATE TABLE service_principals (
  id uuid PRIMARY KEY,
  org_id uuid NOT NULL,
  partner_id uuid NOT NULL,
  name varchar(255) NOT NULL,
  -- Ceiling for the scopes of its key.
  scopes text[] NOT NULL,
  status text NOT NULL CHECK (status IN ('active', 'disabled')),
  created_by uuid NOT NULL,
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL,
  disabled_at timestamptz(3)
);
CREATE INDEX service_principals_newest ON service_principals (created_at DESC, id DESC);
CREATE INDEX service_principals_of_partner_newest ON service_principals (partner_id, created_at DESC, id DESC);
CREATE INDEX service_principals_of_organization_newest ON service_principals (org_id, created_at DESC, id DESC);
-- Lists by status and by what can still be used: the ones looked for may be a handful among a million.
CREATE INDEX service_principals_of_organization_by_status ON service_principals (org_id, status, created_at DESC, id DESC);

CREATE TABLE api_keys (
  id uuid PRIMARY KEY,
  org_id uuid NOT NULL,
  partner_id uuid NOT NULL,
  name varchar(255) NOT NULL,
  -- The first 12 characters of the key.
  key_prefix varchar(12) NOT NULL,
  -- SHA-256 of the key, which is 156 random bits.
  digest bytea NOT NULL UNIQUE,
  -- The key before the last rotation, while it goes on.
  previous_digest bytea UNIQUE,
  previous_valid_until timestamptz(3),
  scopes text[] NOT NULL,
  -- CIDR ranges in canonical form; empty means anywhere.
  allowed_ips text[] NOT NULL DEFAULT '{}',
  rate_limit integer NOT NULL CHECK (rate_limit BETWEEN 1 AND 100000),
  -- A passed expires_at counts as expired also while this says active.
  status text NOT NULL CHECK (status IN ('active', 'expired', 'revoked')),
  expires_at timestamptz(3),
  last_used_at timestamptz(3),
  usage_count bigint NOT NULL DEFAULT 0,
  principal_id uuid REFERENCES service_principals,
  -- Bumped with each change that gateways must know.
  version bigint NOT NULL DEFAULT 1,
  -- Bumped by rotation: what an older generation used is not counted for the new one.
  generation integer NOT NULL DEFAULT 1,
  created_by uuid NOT NULL,
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL,
  revoked_at timestamptz(3),
  CHECK ((previous_digest IS NULL) = (previous_valid_until IS NULL))
);
CREATE UNIQUE INDEX api_keys_one_active_of_principal ON api_keys (principal_id)
  WHERE principal_id IS NOT NULL AND status = 'active';
CREATE INDEX api_keys_of_principal ON api_keys (principal_id) WHERE principal_id IS NOT NULL;
CREATE INDEX api_keys_newest ON api_keys (created_at DESC, id DESC);
CREATE INDEX api_keys_of_partner_newest ON api_keys (partner_id, created_at DESC, id DESC);
CREATE INDEX api_keys_of_organization_newest ON api_keys (org_id, created_at DESC, id DESC);
CREATE INDEX api_keys_by_status ON api_keys (status, created_at DESC, id DESC) INCLUDE (expires_at);
CREATE INDEX api_keys_of_partner_by_status ON api_keys (partner_id, status, created_at DESC, id DESC) INCLUDE (expires_at);
CREATE INDEX api_keys_of_organization_by_status ON api_keys (org_id, status, created_at DESC, id DESC) INCLUDE (expires_at);
-- Keys whose end has come, or will: one that nobody presents again is marked by a job.
CREATE INDEX api_keys_ending ON api_keys (expires_at) WHERE status = 'active' AND expires_at IS NOT NULL;

CREATE TABLE enrollment_keys (
  id uuid PRIMARY KEY,
  org_id uuid NOT NULL,
  partner_id uuid NOT NULL,
  site_id uuid,
  name varchar(255) NOT NULL,
  -- First characters, for people to tell keys apart in the audit trail.
  key_prefix varchar(12) NOT NULL,
  -- HMAC-SHA-256 of the key under the pepper that pepper_id names.
  digest bytea NOT NULL UNIQUE,
  pepper_id text NOT NULL,
  usage_count integer NOT NULL DEFAULT 0 CHECK (usage_count >= 0),
  -- Null means unlimited.
  max_usage integer CHECK (max_usage BETWEEN 1 AND 100000),
  expires_at timestamptz(3) NOT NULL,
  -- Bumped by rotation: a use of an older generation is never given back to the new one.
  generation integer NOT NULL DEFAULT 1,
  created_by uuid NOT NULL,
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL,
  -- Enrollments that succeeded, which is shown; usage_count, which the limit counts, has those under way as well.
  confirmed_count integer NOT NULL DEFAULT 0 CHECK (confirmed_count >= 0)
);
CREATE INDEX enrollment_keys_newest ON enrollment_keys (created_at DESC, id DESC);
CREATE INDEX enrollment_keys_of_partner_newest ON enrollment_keys (partner_id, created_at DESC, id DESC);
CREATE INDEX enrollment_keys_of_organization_newest ON enrollment_keys (org_id, created_at DESC, id DESC);
CREATE INDEX enrollment_keys_ending ON enrollment_keys (expires_at);
CREATE INDEX enrollment_keys_of_partner_ending ON enrollment_keys (partner_id, expires_at);
CREATE INDEX enrollment_keys_of_organization_ending ON enrollment_keys (org_id, expires_at);
CREATE INDEX enrollment_keys_of_site ON enrollment_keys (site_id) WHERE site_id IS NOT NULL;

-- Uses taken by enrollments under way; given back when they are not confirmed in time.
CREATE TABLE enrollment_reservations (
  -- Not a reference: a deleted key's reservation stays, since its device, if there is one, must be confirmed or taken back.
  key_id uuid NOT NULL,
  device_id uuid NOT NULL,
  generation integer NOT NULL,
  reserved_until timestamptz(3) NOT NULL,
  confirmed_at timestamptz(3),
  -- Whoever gives it up takes the device back first; until then nobody confirms it.
  given_up_at timestamptz(3),
  PRIMARY KEY (key_id, device_id)
);
CREATE INDEX enrollment_reservations_open ON enrollment_reservations (reserved_until) WHERE confirmed_at IS NULL;
CREATE INDEX enrollment_reservations_confirmed ON enrollment_reservations (confirmed_at) WHERE confirmed_at IS NOT NULL;
CREATE INDEX enrollment_reservations_given_up ON enrollment_reservations (device_id) WHERE given_up_at IS NOT NULL;

-- Requests of the last hour by minute: slot m % 62 of minute m (database clock), counted up to base_minute.
CREATE TABLE rate_windows (
  kind text NOT NULL CHECK (kind IN ('key', 'session', 'agent')),
  id uuid NOT NULL,
  generation integer NOT NULL DEFAULT 1,
  base_minute bigint NOT NULL DEFAULT 0,
  used integer[] NOT NULL DEFAULT array_fill(0, ARRAY[62]) CHECK (array_length(used, 1) = 62),
  -- Until when grants may still come back, so that a refusal before that is not final.
  lent_until timestamptz NOT NULL DEFAULT '-infinity',
  PRIMARY KEY (kind, id)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02); -- each row is updated many times a second
CREATE INDEX rate_windows_age ON rate_windows (base_minute);

-- Gateways that serve from a lease: a revocation waits for each of them, or for the end of its lease.
CREATE TABLE gateways (
  id uuid PRIMARY KEY,
  lease_until timestamptz NOT NULL,
  left_at timestamptz,
  -- Number of the gateway's last settlement: one that is repeated is not counted again.
  settled bigint NOT NULL DEFAULT 0
);

ALTER TABLE service_principals ENABLE ROW LEVEL SECURITY;
ALTER TABLE api_keys ENABLE ROW LEVEL SECURITY;
ALTER TABLE enrollment_keys ENABLE ROW LEVEL SECURITY;
ALTER TABLE enrollment_reservations ENABLE ROW LEVEL SECURITY;
ALTER TABLE rate_windows ENABLE ROW LEVEL SECURITY;
ALTER TABLE gateways ENABLE ROW LEVEL SECURITY;

CALL policy('service_principals_tenant', 'service_principals', 'all', 'organization');

CALL policy('api_keys_tenant', 'api_keys', 'all', 'organization');

CALL policy('enrollment_keys_tenant', 'enrollment_keys', 'all', 'organization');

CALL policy('enrollment_reservations_system', 'enrollment_reservations', 'all', 'system');
CALL policy('rate_windows_system', 'rate_windows', 'all', 'system');
CALL policy('gateways_system', 'gateways', 'all', 'system');

-- What gateways ask: keys by digest, the changes they must have applied, and who has applied which.
-- Message ids of stream AUTH by gateway that has applied them; kept while somebody may wait for them.
CREATE TABLE change_acknowledgements (
  change_id text NOT NULL,
  gateway_id uuid NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (change_id, gateway_id)
);
CREATE INDEX change_acknowledgements_age ON change_acknowledgements (created_at);

ALTER TABLE change_acknowledgements ENABLE ROW LEVEL SECURITY;
CALL policy('change_acknowledgements_system', 'change_acknowledgements', 'all', 'system');

-- What heartbeats carry: the youngest messages of stream AUTH.
CREATE INDEX outbox_auth ON outbox (created_at) WHERE starts_with(subject, 'auth.');

GRANT SELECT (id, org_id, partner_id, name, key_prefix, digest, previous_digest, previous_valid_until, scopes, allowed_ips,
              rate_limit, status, expires_at, principal_id, version, generation) ON api_keys TO muster_identity_lookup;
CALL policy('api_keys_lookup', 'api_keys', 'select', 'everyone', 'muster_identity_lookup');

CREATE TYPE api_key_record AS (
  id uuid, org_id uuid, partner_id uuid, name text, key_prefix text, scopes text[], allowed_ips text[], rate_limit integer,
  status text, expires_at timestamptz, principal_id uuid, version bigint, generation integer, until timestamptz,
  is_over boolean, partner_status text, org_status text
);

-- The key behind a digest, its own or the one before its last rotation; no caller is known yet.
CREATE FUNCTION find_api_key(wanted_digest bytea) RETURNS SETOF api_key_record
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = identity, pg_temp AS $$
  SELECT k.id, k.org_id, k.partner_id, k.name, k.key_prefix, k.scopes, k.allowed_ips, k.rate_limit, k.status, k.expires_at,
         k.principal_id, k.version, k.generation,
         CASE WHEN k.digest <> wanted_digest THEN k.previous_valid_until END,
         coalesce(k.expires_at <= now(), false),
         -- "unknown" while the copy has no row: nobody is let in on what is not known.
         coalesce((SELECT CASE WHEN t.deleted THEN 'deleted' ELSE t.status END FROM identity.tenant t
                   WHERE t.kind = 'partner' AND t.id = k.partner_id), 'unknown'),
         coalesce((SELECT CASE WHEN t.deleted THEN 'deleted' ELSE t.status END FROM identity.tenant t
                   WHERE t.kind = 'organization' AND t.id = k.org_id), 'unknown')
  FROM identity.api_keys k
  WHERE k.digest = wanted_digest OR (k.previous_digest = wanted_digest AND k.previous_valid_until > now())
$$;

REVOKE ALL ON FUNCTION find_api_key(bytea) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION find_api_key(bytea) TO muster_identity_app;
ALTER FUNCTION find_api_key(bytea) OWNER TO muster_identity_lookup;

-- Credentials of agents, one row per device (agentId = deviceId).
CREATE TABLE agent_tokens (
  device_id uuid PRIMARY KEY,
  org_id uuid NOT NULL,
  partner_id uuid NOT NULL,
  -- SHA-256 of the token, which is 256 random bits.
  digest bytea NOT NULL UNIQUE,
  -- Handed out by a rotation and not used yet; its first use makes it the token.
  next_digest bytea UNIQUE,
  -- Bumped by each token that took the place of another.
  generation integer NOT NULL DEFAULT 1,
  -- The device is quarantined (tenancy): its agent may say that it is there, and nothing else.
  quarantined boolean NOT NULL DEFAULT false,
  -- Version of the device as this row last heard of it.
  device_version bigint NOT NULL DEFAULT 0,
  -- Bumped with each change that gateways must know.
  version bigint NOT NULL DEFAULT 1,
  created_at timestamptz(3) NOT NULL,
  rotated_at timestamptz(3),
  revoked_at timestamptz(3),
  CHECK (next_digest IS NULL OR next_digest <> digest)
);
CREATE INDEX agent_tokens_of_organization ON agent_tokens (org_id) WHERE revoked_at IS NULL;
CREATE INDEX agent_tokens_of_partner ON agent_tokens (partner_id) WHERE revoked_at IS NULL;

ALTER TABLE agent_tokens ENABLE ROW LEVEL SECURITY;
CALL policy('agent_tokens_tenant', 'agent_tokens', 'all', 'organization');

GRANT SELECT (device_id, org_id, partner_id, digest, next_digest, quarantined, version, revoked_at)
  ON agent_tokens TO muster_identity_lookup;
CALL policy('agent_tokens_lookup', 'agent_tokens', 'select', 'everyone', 'muster_identity_lookup');

CREATE TYPE agent_record AS (
  device_id uuid, org_id uuid, partner_id uuid, quarantined boolean, version bigint, is_next boolean, is_revoked boolean,
  partner_status text, org_status text
);

-- The agent behind a digest, its token's or that of the one a rotation handed out; no caller is known yet.
CREATE FUNCTION find_agent_token(wanted_digest bytea) RETURNS SETOF agent_record
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = identity, pg_temp AS $$
  SELECT a.device_id, a.org_id, a.partner_id, a.quarantined, a.version, a.digest <> wanted_digest, a.revoked_at IS NOT NULL,
         -- "unknown" while the copy has no row: nobody is let in on what is not known.
         coalesce((SELECT CASE WHEN t.deleted THEN 'deleted' ELSE t.status END FROM identity.tenant t
                   WHERE t.kind = 'partner' AND t.id = a.partner_id), 'unknown'),
         coalesce((SELECT CASE WHEN t.deleted THEN 'deleted' ELSE t.status END FROM identity.tenant t
                   WHERE t.kind = 'organization' AND t.id = a.org_id), 'unknown')
  FROM identity.agent_tokens a
  WHERE a.digest = wanted_digest OR a.next_digest = wanted_digest
$$;

REVOKE ALL ON FUNCTION find_agent_token(bytea) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION find_agent_token(bytea) TO muster_identity_app;
ALTER FUNCTION find_agent_token(bytea) OWNER TO muster_identity_lookup;
