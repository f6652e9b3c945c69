-- What gateways ask: keys by digest, the changes they must have applied, and who has applied which.
ALTER TABLE rate_windows
  -- Until when grants may still come back, so that a refusal before that is not final.
  ADD COLUMN lent_until timestamptz NOT NULL DEFAULT '-infinity';

ALTER TABLE gateways
  -- Number of the gateway's last settlement: one that is repeated is not counted again.
  ADD COLUMN settled bigint NOT NULL DEFAULT 0;

-- Message ids of stream AUTH by gateway that has applied them; kept while somebody may wait for them.
CREATE TABLE change_acknowledgements (
  change_id text NOT NULL,
  gateway_id uuid NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (change_id, gateway_id)
);
CREATE INDEX change_acknowledgements_age ON change_acknowledgements (created_at);

ALTER TABLE change_acknowledgements ENABLE ROW LEVEL SECURITY;
CREATE POLICY change_acknowledgements_system ON change_acknowledgements
  USING ((SELECT current_setting('app.scope', true)) = 'system')
  WITH CHECK ((SELECT current_setting('app.scope', true)) = 'system');

-- What heartbeats carry: the youngest messages of stream AUTH.
CREATE INDEX outbox_auth ON outbox (created_at) WHERE starts_with(subject, 'auth.');
-- What a gateway that was away must know.
CREATE INDEX sessions_revoked ON sessions (revoked_at) WHERE revoked_at IS NOT NULL;
CREATE INDEX rate_windows_age ON rate_windows (base_minute);

GRANT SELECT (id, org_id, partner_id, name, key_prefix, digest, previous_digest, previous_valid_until, scopes, allowed_ips,
              rate_limit, status, expires_at, principal_id, version, generation) ON api_keys TO muster_identity_lookup;
CREATE POLICY api_keys_lookup ON api_keys FOR SELECT TO muster_identity_lookup USING (true);

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
