-- The sealed audit chains. A row is written once, under the lock of its chain's head, and never changed.
CREATE TABLE chain_head (
  -- Organization, else partner, else the zero UUID for the platform's own chain.
  chain_id uuid PRIMARY KEY,
  org_id uuid,
  partner_id uuid,
  seq bigint NOT NULL DEFAULT 0,
  checksum varchar(128),
  -- What the earliest retained row links to: 0 and null until something was pruned.
  base_seq bigint NOT NULL DEFAULT 0,
  base_checksum varchar(128),
  updated_at timestamptz(3) NOT NULL DEFAULT now()
);
CREATE INDEX chain_head_partner ON chain_head (partner_id);

CREATE TABLE audit_log (
  chain_id uuid NOT NULL,
  seq bigint NOT NULL,
  id uuid NOT NULL,
  org_id uuid,
  partner_id uuid,
  timestamp timestamptz(3) NOT NULL,
  actor_type text NOT NULL CHECK (actor_type IN ('user', 'api_key', 'agent', 'system')),
  actor_id uuid NOT NULL,
  actor_email varchar(255),
  actor_name varchar(255),
  actor_role varchar(255),
  actor_department varchar(255),
  session_id uuid,
  action varchar(100) NOT NULL,
  resource_type varchar(50) NOT NULL,
  resource_id uuid NOT NULL,
  resource_name varchar(255),
  details jsonb NOT NULL,
  ip_address varchar(45),
  user_agent text,
  result text NOT NULL CHECK (result IN ('success', 'failure', 'denied')),
  error_message text,
  -- Format of the hashed payload, and the salt over the personal fields (docs/decisions: sealed payload).
  format smallint NOT NULL,
  personal_salt bytea NOT NULL,
  checksum varchar(128) NOT NULL,
  prev_checksum varchar(128),
  PRIMARY KEY (chain_id, seq),
  UNIQUE (chain_id, id)
) PARTITION BY HASH (chain_id);

CREATE INDEX audit_log_by_chain ON audit_log (chain_id, timestamp DESC, id DESC);
CREATE INDEX audit_log_by_partner ON audit_log (partner_id, timestamp DESC, id DESC);
CREATE INDEX audit_log_by_time ON audit_log (timestamp DESC, id DESC);
CREATE INDEX audit_log_by_id ON audit_log (id);

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'audit rows are append-only: % on % refused', TG_OP, TG_TABLE_NAME
    USING ERRCODE = 'insufficient_privilege';
END $$;

-- On each partition and ALWAYS: a parent's TRUNCATE trigger does not fire for a partition, and replica mode
-- (session_replication_role) skips ordinary triggers.
DO $$
DECLARE
  part text;
BEGIN
  FOR n IN 0..15 LOOP
    part := format('audit_log_%s', lpad(n::text, 2, '0'));
    EXECUTE format('CREATE TABLE %I PARTITION OF audit_log FOR VALUES WITH (MODULUS 16, REMAINDER %s)', part, n);
    EXECUTE format('CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON %I FOR EACH ROW EXECUTE FUNCTION refuse_change()', part);
    EXECUTE format('CREATE TRIGGER no_truncate BEFORE TRUNCATE ON %I FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()', part);
    EXECUTE format('ALTER TABLE %I ENABLE ALWAYS TRIGGER append_only', part);
    EXECUTE format('ALTER TABLE %I ENABLE ALWAYS TRIGGER no_truncate', part);
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', part);
    EXECUTE format('CREATE POLICY never_directly ON %I USING (false)', part);
    EXECUTE format('REVOKE INSERT, UPDATE, DELETE, TRUNCATE ON %I FROM muster_audit_app', part);
  END LOOP;
END $$;
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON audit_log FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
ALTER TABLE audit_log ENABLE ALWAYS TRIGGER no_truncate;

REVOKE UPDATE, DELETE, TRUNCATE ON audit_log FROM muster_audit_app;
REVOKE DELETE, TRUNCATE ON chain_head FROM muster_audit_app;

ALTER TABLE audit_log ENABLE ROW LEVEL SECURITY;
ALTER TABLE chain_head ENABLE ROW LEVEL SECURITY;

CREATE POLICY audit_log_read ON audit_log FOR SELECT USING (
  (SELECT current_setting('app.scope', true)) = 'system'
  OR ((SELECT current_setting('app.scope', true)) = 'partner'
      AND partner_id = (SELECT nullif(current_setting('app.partner_id', true), '')::uuid)
      AND (org_id IS NULL
           OR (SELECT current_setting('app.org_access', true)) = 'all'
           OR org_id = ANY ((SELECT nullif(current_setting('app.org_ids', true), '')::uuid[])::uuid[])))
  OR ((SELECT current_setting('app.scope', true)) = 'organization'
      AND org_id = (SELECT nullif(current_setting('app.org_id', true), '')::uuid))
);
CREATE POLICY audit_log_seal ON audit_log FOR INSERT
  WITH CHECK ((SELECT current_setting('app.scope', true)) = 'system');

CREATE POLICY chain_head_read ON chain_head FOR SELECT USING (
  (SELECT current_setting('app.scope', true)) = 'system'
  OR ((SELECT current_setting('app.scope', true)) = 'partner'
      AND partner_id = (SELECT nullif(current_setting('app.partner_id', true), '')::uuid)
      AND (org_id IS NULL
           OR (SELECT current_setting('app.org_access', true)) = 'all'
           OR org_id = ANY ((SELECT nullif(current_setting('app.org_ids', true), '')::uuid[])::uuid[])))
  OR ((SELECT current_setting('app.scope', true)) = 'organization'
      AND org_id = (SELECT nullif(current_setting('app.org_id', true), '')::uuid))
);
CREATE POLICY chain_head_seal ON chain_head FOR INSERT
  WITH CHECK ((SELECT current_setting('app.scope', true)) = 'system');
CREATE POLICY chain_head_move ON chain_head FOR UPDATE
  USING ((SELECT current_setting('app.scope', true)) = 'system')
  WITH CHECK ((SELECT current_setting('app.scope', true)) = 'system');
