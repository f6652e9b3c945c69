-- Custom roles of partners and organizations, e-mail addresses that strangers cannot ask about, and lists of people.
ALTER TABLE roles ADD COLUMN description varchar(1000) NOT NULL DEFAULT '';
CREATE UNIQUE INDEX roles_name_of_partner ON roles (partner_id, lower(name)) WHERE partner_id IS NOT NULL AND org_id IS NULL;
CREATE UNIQUE INDEX roles_name_of_organization ON roles (org_id, lower(name)) WHERE org_id IS NOT NULL;
CREATE INDEX roles_by_name ON roles ((key IS NULL), name, id);
CREATE INDEX roles_of_partner ON roles (partner_id, name, id) WHERE partner_id IS NOT NULL;

-- A partner's person sees the roles of the organizations they reach. An organization's people see their partner's roles for
-- organizations, which they may have.
DROP POLICY roles_read ON roles;
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

-- An address is one account's over the deployment. Invitations wait beside it: a tenant that invites an address learns nothing
-- of another tenant's account (docs/decisions/0011-invited-addresses.md).
DROP INDEX users_email;
CREATE UNIQUE INDEX users_email ON users (lower(email)) WHERE status = 'active' OR password_hash IS NOT NULL;
CREATE UNIQUE INDEX users_email_in_place ON users
  (coalesce(org_id, partner_id, '00000000-0000-0000-0000-000000000000'), lower(email));
CREATE INDEX users_by_email ON users (lower(email));

CREATE TYPE email_holder AS (user_id uuid, partner_id uuid, org_id uuid);
-- Whoever has an address, invited people included. Row-level security keeps tenants from using users_by_email themselves.
CREATE FUNCTION find_email_holders(wanted_email text) RETURNS SETOF email_holder
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = identity, pg_temp AS $$
  SELECT id, partner_id, org_id FROM identity.users WHERE lower(email) = lower(wanted_email)
$$;
REVOKE ALL ON FUNCTION find_email_holders(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION find_email_holders(text) TO muster_identity_app;
ALTER FUNCTION find_email_holders(text) OWNER TO muster_identity_lookup;

CREATE INDEX users_of_role_newest ON users (role_id, created_at DESC, id DESC);
CREATE INDEX users_of_partner_by_status ON users (partner_id, status, created_at DESC, id DESC);
CREATE INDEX users_of_organization_by_status ON users (org_id, status, created_at DESC, id DESC) WHERE org_id IS NOT NULL;

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
CREATE POLICY refusals_system ON refusals
  USING ((SELECT current_setting('app.scope', true)) = 'system')
  WITH CHECK ((SELECT current_setting('app.scope', true)) = 'system');
