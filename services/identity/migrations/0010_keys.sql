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
  updated_at timestamptz(3) NOT NULL
);
CREATE INDEX enrollment_keys_newest ON enrollment_keys (created_at DESC, id DESC);
CREATE INDEX enrollment_keys_of_partner_newest ON enrollment_keys (partner_id, created_at DESC, id DESC);
CREATE INDEX enrollment_keys_of_organization_newest ON enrollment_keys (org_id, created_at DESC, id DESC);
CREATE INDEX enrollment_keys_of_site ON enrollment_keys (site_id) WHERE site_id IS NOT NULL;

-- Uses taken by enrollments under way; given back when they are not confirmed in time.
CREATE TABLE enrollment_reservations (
  key_id uuid NOT NULL REFERENCES enrollment_keys ON DELETE CASCADE,
  device_id uuid NOT NULL,
  generation integer NOT NULL,
  reserved_until timestamptz(3) NOT NULL,
  confirmed_at timestamptz(3),
  PRIMARY KEY (key_id, device_id)
);
CREATE INDEX enrollment_reservations_open ON enrollment_reservations (reserved_until) WHERE confirmed_at IS NULL;
CREATE INDEX enrollment_reservations_confirmed ON enrollment_reservations (confirmed_at) WHERE confirmed_at IS NOT NULL;

-- Requests of the last hour by minute: slot m % 62 of minute m (database clock), counted up to base_minute.
CREATE TABLE rate_windows (
  kind text NOT NULL CHECK (kind IN ('key', 'session', 'agent')),
  id uuid NOT NULL,
  generation integer NOT NULL DEFAULT 1,
  base_minute bigint NOT NULL DEFAULT 0,
  used integer[] NOT NULL DEFAULT array_fill(0, ARRAY[62]) CHECK (array_length(used, 1) = 62),
  PRIMARY KEY (kind, id)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02); -- each row is updated many times a second

-- Gateways that serve from a lease: a revocation waits for each of them, or for the end of its lease.
CREATE TABLE gateways (
  id uuid PRIMARY KEY,
  lease_until timestamptz NOT NULL,
  left_at timestamptz
);

ALTER TABLE service_principals ENABLE ROW LEVEL SECURITY;
ALTER TABLE api_keys ENABLE ROW LEVEL SECURITY;
ALTER TABLE enrollment_keys ENABLE ROW LEVEL SECURITY;
ALTER TABLE enrollment_reservations ENABLE ROW LEVEL SECURITY;
ALTER TABLE rate_windows ENABLE ROW LEVEL SECURITY;
ALTER TABLE gateways ENABLE ROW LEVEL SECURITY;

CREATE POLICY service_principals_tenant ON service_principals FOR ALL
  USING (
    (SELECT current_setting('app.scope', true)) = 'system'
    OR ((SELECT current_setting('app.scope', true)) = 'partner'
        AND partner_id = (SELECT nullif(current_setting('app.partner_id', true), '')::uuid)
        AND ((SELECT current_setting('app.org_access', true)) = 'all'
             OR org_id = ANY ((SELECT nullif(current_setting('app.org_ids', true), '')::uuid[])::uuid[])))
    OR ((SELECT current_setting('app.scope', true)) = 'organization'
        AND org_id = (SELECT nullif(current_setting('app.org_id', true), '')::uuid))
  );

CREATE POLICY api_keys_tenant ON api_keys FOR ALL
  USING (
    (SELECT current_setting('app.scope', true)) = 'system'
    OR ((SELECT current_setting('app.scope', true)) = 'partner'
        AND partner_id = (SELECT nullif(current_setting('app.partner_id', true), '')::uuid)
        AND ((SELECT current_setting('app.org_access', true)) = 'all'
             OR org_id = ANY ((SELECT nullif(current_setting('app.org_ids', true), '')::uuid[])::uuid[])))
    OR ((SELECT current_setting('app.scope', true)) = 'organization'
        AND org_id = (SELECT nullif(current_setting('app.org_id', true), '')::uuid))
  );

CREATE POLICY enrollment_keys_tenant ON enrollment_keys FOR ALL
  USING (
    (SELECT current_setting('app.scope', true)) = 'system'
    OR ((SELECT current_setting('app.scope', true)) = 'partner'
        AND partner_id = (SELECT nullif(current_setting('app.partner_id', true), '')::uuid)
        AND ((SELECT current_setting('app.org_access', true)) = 'all'
             OR org_id = ANY ((SELECT nullif(current_setting('app.org_ids', true), '')::uuid[])::uuid[])))
    OR ((SELECT current_setting('app.scope', true)) = 'organization'
        AND org_id = (SELECT nullif(current_setting('app.org_id', true), '')::uuid))
  );

CREATE POLICY enrollment_reservations_system ON enrollment_reservations
  USING ((SELECT current_setting('app.scope', true)) = 'system')
  WITH CHECK ((SELECT current_setting('app.scope', true)) = 'system');
CREATE POLICY rate_windows_system ON rate_windows
  USING ((SELECT current_setting('app.scope', true)) = 'system')
  WITH CHECK ((SELECT current_setting('app.scope', true)) = 'system');
CREATE POLICY gateways_system ON gateways
  USING ((SELECT current_setting('app.scope', true)) = 'system')
  WITH CHECK ((SELECT current_setting('app.scope', true)) = 'system');
