-- Addresses have owners (docs/decisions/0106-addresses-have-owners.md): how the address of an account was proven. Null: not at all; such an
-- account keeps nobody else from the address, and yields to its owner.
ALTER TABLE users ADD COLUMN email_proof text CHECK (email_proof IN ('mailbox', 'domain', 'operator', 'assumed'));
-- Accounts from before count as proven, except towards whoever verifies their domain.
UPDATE users SET email_proof = CASE scope WHEN 'system' THEN 'operator' ELSE 'assumed' END
WHERE status = 'active' OR password_hash IS NOT NULL;

-- One proven account per address. Any number of unproven ones stand beside each other, each in a tenant of its own.
DROP INDEX users_email;
CREATE UNIQUE INDEX users_email ON users (lower(email)) WHERE email_proof IS NOT NULL;
-- Accounts of a domain and of its subdomains: its labels from the last to the first.
CREATE INDEX users_by_domain ON users ((reverse(rtrim(lower(substring(email FROM '[^@]*$')), '.'))) text_pattern_ops);

-- The reply to the inviter lacked the link: whoever has it has read the mail.
ALTER TABLE invites ADD COLUMN by_mail_alone boolean NOT NULL DEFAULT false;
-- The partner invited, or the platform for it: domains of the whole partner count.
ALTER TABLE invites ADD COLUMN of_partner boolean NOT NULL DEFAULT false;

GRANT SELECT (email_proof, last_login_at) ON users TO muster_identity_lookup;
ALTER TYPE email_holder ADD ATTRIBUTE is_account boolean, ADD ATTRIBUTE email_proof text;
-- Whoever has an address, invited people included. What a deleted tenant proved counts no more.
CREATE OR REPLACE FUNCTION find_email_holders(wanted_email text) RETURNS SETOF email_holder
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = identity, pg_temp AS $$
  SELECT u.id, u.partner_id, u.org_id,
         u.status = 'active' OR u.password_hash IS NOT NULL OR u.last_login_at IS NOT NULL OR u.email_proof IS NOT NULL,
         CASE WHEN NOT EXISTS (SELECT FROM identity.tenant t
                               WHERE t.deleted AND (t.kind, t.id) IN (('partner', u.partner_id), ('organization', u.org_id)))
              THEN u.email_proof END
  FROM identity.users u WHERE lower(u.email) = lower(wanted_email)
$$;

GRANT SELECT (domain, verified_at, partner_id, org_id) ON sso_domains TO muster_identity_lookup;
CALL policy('sso_domains_lookup', 'sso_domains', 'select', 'everyone', 'muster_identity_lookup');
CREATE TYPE domain_owner AS (domain text, partner_id uuid, org_id uuid);
-- The nearest verified one of these domains with its tenant. Row-level security keeps tenants from looking themselves.
CREATE FUNCTION find_domain_owner(wanted_domains text[]) RETURNS SETOF domain_owner
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = identity, pg_temp AS $$
  SELECT domain, partner_id, org_id FROM identity.sso_domains
  WHERE domain = ANY (wanted_domains) AND verified_at IS NOT NULL ORDER BY length(domain) DESC LIMIT 1
$$;

-- Accounts and invitations with an address in a domain or below it; each domain comes in every form in which it may be written.
CREATE FUNCTION find_users_in_domain(wanted_domains text[]) RETURNS SETOF uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = identity, pg_temp AS $$
  SELECT u.id FROM unnest(wanted_domains) AS wanted(domain) JOIN identity.users u
    ON reverse(rtrim(lower(substring(u.email FROM '[^@]*$')), '.')) = reverse(wanted.domain)
    OR (reverse(rtrim(lower(substring(u.email FROM '[^@]*$')), '.')) ~>=~ (reverse(wanted.domain) || '.')
        AND reverse(rtrim(lower(substring(u.email FROM '[^@]*$')), '.')) ~<~ (reverse(wanted.domain) || '/'))
$$;

REVOKE ALL ON FUNCTION find_domain_owner(text[]), find_users_in_domain(text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION find_domain_owner(text[]), find_users_in_domain(text[]) TO muster_identity_app;
ALTER FUNCTION find_domain_owner(text[]) OWNER TO muster_identity_lookup;
ALTER FUNCTION find_users_in_domain(text[]) OWNER TO muster_identity_lookup;

-- Of several accounts that share an unproven address each partner's first comes before any partner's second.
ALTER TYPE login_candidate ADD ATTRIBUTE is_proven boolean, ADD ATTRIBUTE of_partner bigint;
CREATE OR REPLACE FUNCTION find_login(wanted_email text) RETURNS SETOF login_candidate
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = identity, pg_temp AS $$
  SELECT id, password_hash, status, email_proof IS NOT NULL,
         row_number() OVER (PARTITION BY partner_id, status = 'active' AND password_hash IS NOT NULL ORDER BY id)
  FROM identity.users WHERE lower(email) = lower(wanted_email)
$$;
