-- The hostname of an agent's device, as audit rows name it; null until a message of tenancy brings it.
ALTER TABLE agent_tokens ADD COLUMN name text;
GRANT SELECT (name) ON agent_tokens TO muster_identity_lookup;

ALTER TYPE agent_record ADD ATTRIBUTE name text;
CREATE OR REPLACE FUNCTION find_agent_token(wanted_digest bytea) RETURNS SETOF agent_record
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = identity, pg_temp AS $$
  SELECT a.device_id, a.org_id, a.partner_id, a.quarantined, a.version, a.digest <> wanted_digest, a.revoked_at IS NOT NULL,
         -- "unknown" while the copy has no row: nobody is let in on what is not known.
         coalesce((SELECT CASE WHEN t.deleted THEN 'deleted' ELSE t.status END FROM identity.tenant t
                   WHERE t.kind = 'partner' AND t.id = a.partner_id), 'unknown'),
         coalesce((SELECT CASE WHEN t.deleted THEN 'deleted' ELSE t.status END FROM identity.tenant t
                   WHERE t.kind = 'organization' AND t.id = a.org_id), 'unknown'),
         a.name
  FROM identity.agent_tokens a
  WHERE a.digest = wanted_digest OR a.next_digest = wanted_digest
$$;
