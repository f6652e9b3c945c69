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
CREATE POLICY agent_tokens_tenant ON agent_tokens FOR ALL
  USING (
    (SELECT current_setting('app.scope', true)) = 'system'
    OR ((SELECT current_setting('app.scope', true)) = 'partner'
        AND partner_id = (SELECT nullif(current_setting('app.partner_id', true), '')::uuid)
        AND ((SELECT current_setting('app.org_access', true)) = 'all'
             OR org_id = ANY ((SELECT nullif(current_setting('app.org_ids', true), '')::uuid[])::uuid[])))
    OR ((SELECT current_setting('app.scope', true)) = 'organization'
        AND org_id = (SELECT nullif(current_setting('app.org_id', true), '')::uuid))
  );

GRANT SELECT (device_id, org_id, partner_id, digest, next_digest, quarantined, version, revoked_at)
  ON agent_tokens TO muster_identity_lookup;
CREATE POLICY agent_tokens_lookup ON agent_tokens FOR SELECT TO muster_identity_lookup USING (true);

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
