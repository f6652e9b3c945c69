-- Invitations, second factors, site restriction, and the status of a person's tenant (table `tenant` of libs/service).
ALTER TABLE users
  ADD COLUMN mfa_enabled boolean NOT NULL DEFAULT false,
  -- Whether the person is limited to the sites of user_sites; stays when the last of them is gone.
  ADD COLUMN site_restricted boolean NOT NULL DEFAULT false;
CREATE INDEX users_newest ON users (created_at DESC, id DESC);
CREATE INDEX users_of_partner_newest ON users (partner_id, created_at DESC, id DESC);
CREATE INDEX users_of_organization_newest ON users (org_id, created_at DESC, id DESC) WHERE org_id IS NOT NULL;

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

CREATE TABLE mfa_failures (
  id uuid PRIMARY KEY,
  user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
  failed_at timestamptz(3) NOT NULL
);
CREATE INDEX mfa_failures_user ON mfa_failures (user_id, failed_at);

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
ALTER TABLE mfa_failures ENABLE ROW LEVEL SECURITY;
ALTER TABLE failed_logins ENABLE ROW LEVEL SECURITY;

CREATE POLICY user_sites_tenant ON user_sites FOR ALL
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
CREATE POLICY invites_tenant ON invites FOR ALL
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

-- Second factors are their person's alone; an administrator sees users.mfa_enabled. (The actor of a service is no UUID.)
CREATE POLICY user_totp_own ON user_totp FOR ALL USING (
  (SELECT current_setting('app.scope', true)) <> ''
  AND user_id::text = (SELECT current_setting('app.actor_id', true)));
CREATE POLICY recovery_codes_own ON recovery_codes FOR ALL USING (
  (SELECT current_setting('app.scope', true)) <> ''
  AND user_id::text = (SELECT current_setting('app.actor_id', true)));
CREATE POLICY mfa_challenges_own ON mfa_challenges FOR ALL USING (
  (SELECT current_setting('app.scope', true)) <> ''
  AND user_id::text = (SELECT current_setting('app.actor_id', true)));
CREATE POLICY mfa_failures_own ON mfa_failures FOR ALL USING (
  (SELECT current_setting('app.scope', true)) <> ''
  AND user_id::text = (SELECT current_setting('app.actor_id', true)));
CREATE POLICY failed_logins_own ON failed_logins FOR ALL USING (
  (SELECT current_setting('app.scope', true)) <> ''
  AND user_id::text = (SELECT current_setting('app.actor_id', true)));

-- Look-ups before there is a caller, as in 0002.
GRANT SELECT (mfa_enabled, site_restricted) ON users TO muster_identity_lookup;
GRANT SELECT (user_id, site_id) ON user_sites TO muster_identity_lookup;
GRANT SELECT (id, user_id, token_hash, expires_at, accepted_at) ON invites TO muster_identity_lookup;
GRANT SELECT (id, user_id, token_hash, expires_at, completed_at) ON mfa_challenges TO muster_identity_lookup;
GRANT SELECT (kind, id, status, deleted) ON tenant TO muster_identity_lookup;

CREATE POLICY user_sites_lookup ON user_sites FOR SELECT TO muster_identity_lookup USING (true);
CREATE POLICY invites_lookup ON invites FOR SELECT TO muster_identity_lookup USING (true);
CREATE POLICY mfa_challenges_lookup ON mfa_challenges FOR SELECT TO muster_identity_lookup USING (true);
CREATE POLICY tenant_lookup ON tenant FOR SELECT TO muster_identity_lookup USING (true);

CREATE TYPE token_holder AS (id uuid, user_id uuid, expires_at timestamptz, used_at timestamptz);

CREATE FUNCTION find_invite(wanted_hash bytea) RETURNS SETOF token_holder
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = identity, pg_temp AS $$
  SELECT id, user_id, expires_at, accepted_at FROM identity.invites WHERE token_hash = wanted_hash
$$;

CREATE FUNCTION find_mfa_challenge(wanted_hash bytea) RETURNS SETOF token_holder
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = identity, pg_temp AS $$
  SELECT id, user_id, expires_at, completed_at FROM identity.mfa_challenges WHERE token_hash = wanted_hash
$$;

-- A running older version names the columns it reads, so it does not mind more of them.
ALTER TYPE user_principal ADD ATTRIBUTE mfa_enabled boolean, ADD ATTRIBUTE site_restricted boolean,
  ADD ATTRIBUTE site_ids uuid[], ADD ATTRIBUTE partner_status text, ADD ATTRIBUTE org_status text;

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
            WHERE t.kind = 'organization' AND t.id = u.org_id), 'unknown') END
  FROM identity.users u JOIN identity.roles r ON r.id = u.role_id
  WHERE u.id = wanted_user
$$;

REVOKE ALL ON FUNCTION find_invite(bytea), find_mfa_challenge(bytea) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION find_invite(bytea), find_mfa_challenge(bytea) TO muster_identity_app;
ALTER FUNCTION find_invite(bytea) OWNER TO muster_identity_lookup;
ALTER FUNCTION find_mfa_challenge(bytea) OWNER TO muster_identity_lookup;
