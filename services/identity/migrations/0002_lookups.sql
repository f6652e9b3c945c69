-- What is asked before there is a caller: narrow functions of the lookup role, and nothing else sees across tenants.
GRANT SELECT (id, email, password_hash, status) ON users TO muster_identity_lookup;
GRANT SELECT (name, department, scope, partner_id, org_id, role_id, org_access, version) ON users
  TO muster_identity_lookup;
GRANT SELECT (id, key, name, permissions) ON roles TO muster_identity_lookup;
GRANT SELECT (user_id, org_id) ON user_organizations TO muster_identity_lookup;
GRANT SELECT ON sessions TO muster_identity_lookup;

CREATE POLICY users_lookup ON users FOR SELECT TO muster_identity_lookup USING (true);
CREATE POLICY roles_lookup ON roles FOR SELECT TO muster_identity_lookup USING (true);
CREATE POLICY user_organizations_lookup ON user_organizations FOR SELECT TO muster_identity_lookup USING (true);
CREATE POLICY sessions_lookup ON sessions FOR SELECT TO muster_identity_lookup USING (true);

CREATE TYPE login_candidate AS (user_id uuid, password_hash text, status text);
CREATE TYPE session_state AS (
  session_id uuid, user_id uuid, generation integer, family_secret bytea, mfa_at timestamptz, rotated_at timestamptz,
  idle_expires_at timestamptz, expires_at timestamptz, revoked_at timestamptz
);
CREATE TYPE user_principal AS (
  user_id uuid, email text, name text, department text, role text, permissions text[], scope text, partner_id uuid,
  org_id uuid, org_access text, org_ids uuid[], status text, version integer
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
         u.status, u.version
  FROM identity.users u JOIN identity.roles r ON r.id = u.role_id
  WHERE u.id = wanted_user
$$;

REVOKE ALL ON FUNCTION find_login(text), find_session(uuid), find_principal(uuid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION find_login(text), find_session(uuid), find_principal(uuid) TO muster_identity_app;

ALTER FUNCTION find_login(text) OWNER TO muster_identity_lookup;
ALTER FUNCTION find_session(uuid) OWNER TO muster_identity_lookup;
ALTER FUNCTION find_principal(uuid) OWNER TO muster_identity_lookup;
