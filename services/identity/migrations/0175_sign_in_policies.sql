-- What a partner or an organization requires of its users' sign-ins. A partner's row (no org_id) holds for users of its
-- organizations, too; without a row nothing is required.
CREATE TABLE sign_in_policies (
  owner_id uuid PRIMARY KEY GENERATED ALWAYS AS (coalesce(org_id, partner_id)) STORED,
  partner_id uuid NOT NULL,
  org_id uuid,
  require_second_factor boolean NOT NULL,
  updated_at timestamptz(3) NOT NULL
);
CREATE INDEX sign_in_policies_of_partner ON sign_in_policies (partner_id);

ALTER TABLE sign_in_policies ENABLE ROW LEVEL SECURITY;

CREATE POLICY sign_in_policies_tenant ON sign_in_policies FOR ALL
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

-- An organization sees what its partner requires.
CREATE POLICY sign_in_policies_inherited ON sign_in_policies FOR SELECT
  USING (
    (SELECT current_setting('app.scope', true)) = 'organization' AND org_id IS NULL
    AND partner_id = (SELECT nullif(current_setting('app.partner_id', true), '')::uuid)
  );

GRANT SELECT (partner_id, org_id, require_second_factor) ON sign_in_policies TO muster_identity_lookup;
CREATE POLICY sign_in_policies_lookup ON sign_in_policies FOR SELECT TO muster_identity_lookup USING (true);

ALTER TYPE user_principal ADD ATTRIBUTE second_factor_required boolean;
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
                   AND p.status = 'active' AND p.enforce_sso AND p.proven_at IS NOT NULL),
         EXISTS (SELECT FROM identity.sign_in_policies p
                 WHERE p.partner_id = u.partner_id AND (p.org_id IS NULL OR p.org_id = u.org_id)
                   AND p.require_second_factor)
  FROM identity.users u JOIN identity.roles r ON r.id = u.role_id
  WHERE u.id = wanted_user
$$;
