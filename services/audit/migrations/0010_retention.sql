-- Retention: policies of organizations, receipts of what was pruned, and the one role that may delete rows. Needs the roles of
-- deploy/sql/roles.sql as of this version: muster_audit_pruner.
CREATE TABLE retention_policy (
  org_id uuid PRIMARY KEY,
  partner_id uuid NOT NULL,
  retention_days integer NOT NULL DEFAULT 365 CHECK (retention_days BETWEEN 1 AND 3650),
  archive_to_s3 boolean NOT NULL DEFAULT false,
  -- A shorter retention waits until then, so that whoever sees the audit row can undo it.
  pending_retention_days integer CHECK (pending_retention_days BETWEEN 1 AND 3650),
  pending_from timestamptz(3),
  version bigint NOT NULL DEFAULT 1,
  updated_at timestamptz(3) NOT NULL DEFAULT now(),
  CHECK ((pending_retention_days IS NULL) = (pending_from IS NULL))
);
CREATE INDEX retention_policy_partner ON retention_policy (partner_id);

-- When a chain was last looked through to its end.
CREATE TABLE chain_cleanup (
  chain_id uuid PRIMARY KEY,
  org_id uuid,
  partner_id uuid,
  last_cleanup_at timestamptz(3) NOT NULL
);

-- One row per pruned piece of a chain, contiguous from seq 1: what the retained rest links to, signed.
CREATE TABLE prune_receipts (
  chain_id uuid NOT NULL,
  org_id uuid,
  partner_id uuid,
  first_seq bigint NOT NULL,
  last_seq bigint NOT NULL,
  last_checksum text NOT NULL,
  pruned_at timestamptz(3) NOT NULL,
  note text NOT NULL,
  -- Where the rows were archived: null when they were not.
  archive jsonb,
  PRIMARY KEY (chain_id, last_seq),
  UNIQUE (chain_id, first_seq),
  CHECK (first_seq BETWEEN 1 AND last_seq)
);

-- The one retention worker that is active; `fence` grows with each change of holder.
CREATE TABLE retention_lease (
  single boolean PRIMARY KEY DEFAULT true CHECK (single),
  holder text,
  fence bigint NOT NULL DEFAULT 0,
  expires_at timestamptz NOT NULL DEFAULT '-infinity'
);
INSERT INTO retention_lease DEFAULT VALUES;

ALTER TABLE retention_policy ENABLE ROW LEVEL SECURITY;
ALTER TABLE chain_cleanup ENABLE ROW LEVEL SECURITY;
ALTER TABLE prune_receipts ENABLE ROW LEVEL SECURITY;
ALTER TABLE retention_lease ENABLE ROW LEVEL SECURITY;

DO $$
DECLARE
  seen constant text := $seen$
    (SELECT current_setting('app.scope', true)) = 'system'
    OR ((SELECT current_setting('app.scope', true)) = 'partner'
        AND partner_id = (SELECT nullif(current_setting('app.partner_id', true), '')::uuid)
        AND (org_id IS NULL
             OR (SELECT current_setting('app.org_access', true)) = 'all'
             OR org_id = ANY ((SELECT nullif(current_setting('app.org_ids', true), '')::uuid[])::uuid[])))
    OR ((SELECT current_setting('app.scope', true)) = 'organization'
        AND org_id = (SELECT nullif(current_setting('app.org_id', true), '')::uuid))
  $seen$;
  is_system constant text := $is$(SELECT current_setting('app.scope', true)) = 'system'$is$;
BEGIN
  EXECUTE format('CREATE POLICY retention_policy_own ON retention_policy USING (%s) WITH CHECK (%s)', seen, seen);
  EXECUTE format('CREATE POLICY chain_cleanup_read ON chain_cleanup FOR SELECT USING (%s)', seen);
  EXECUTE format('CREATE POLICY chain_cleanup_write ON chain_cleanup USING (%s) WITH CHECK (%s)', is_system, is_system);
  EXECUTE format('CREATE POLICY prune_receipts_read ON prune_receipts FOR SELECT USING (%s)', seen);
  EXECUTE format('CREATE POLICY prune_receipts_write ON prune_receipts FOR INSERT WITH CHECK (%s)', is_system);
  EXECUTE format('CREATE POLICY retention_lease_system ON retention_lease USING (%s) WITH CHECK (%s)', is_system, is_system);
  EXECUTE format('CREATE POLICY audit_log_prune ON audit_log FOR DELETE TO muster_audit_pruner USING (%s)', is_system);
END $$;

-- The service seals and reads; it moves heads, never bases, and writes no receipt.
REVOKE INSERT, UPDATE ON chain_head FROM muster_audit_app;
GRANT INSERT (chain_id, org_id, partner_id) ON chain_head TO muster_audit_app;
GRANT UPDATE (seq, checksum, updated_at, partner_id) ON chain_head TO muster_audit_app;
REVOKE DELETE, TRUNCATE ON retention_policy FROM muster_audit_app;
REVOKE INSERT, UPDATE, DELETE, TRUNCATE ON chain_cleanup, prune_receipts, retention_lease FROM muster_audit_app;

-- The pruner reads what it judges and archives, and writes nothing that could look like a row of a chain.
GRANT SELECT ON schema_migrations, audit_log, chain_head, retention_policy, chain_cleanup, prune_receipts, retention_lease
  TO muster_audit_pruner;
GRANT DELETE ON audit_log TO muster_audit_pruner;
GRANT UPDATE (base_seq, base_checksum, updated_at) ON chain_head TO muster_audit_pruner;
GRANT INSERT ON prune_receipts, chain_cleanup, outbox TO muster_audit_pruner;
GRANT UPDATE ON chain_cleanup, retention_lease TO muster_audit_pruner;

-- A row goes only by the pruner's hand, and only after its receipt was written and the base of its chain moved past it.
CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    IF current_user = 'muster_audit_pruner'
      AND OLD.seq <= (SELECT h.base_seq FROM chain_head h WHERE h.chain_id = OLD.chain_id) THEN
      RETURN OLD;
    END IF;
  END IF;
  RAISE EXCEPTION 'audit rows are append-only: % on % refused', TG_OP, TG_TABLE_NAME
    USING ERRCODE = 'insufficient_privilege';
END $$;

CREATE FUNCTION guard_base() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (NEW.base_seq, NEW.base_checksum) IS NOT DISTINCT FROM (OLD.base_seq, OLD.base_checksum) THEN
    RETURN NEW;
  END IF;
  IF NOT EXISTS (
    SELECT FROM prune_receipts r JOIN audit_log l ON l.chain_id = r.chain_id AND l.seq = r.last_seq
    WHERE r.chain_id = NEW.chain_id AND r.first_seq = OLD.base_seq + 1 AND r.last_seq = NEW.base_seq
      AND r.last_checksum = NEW.base_checksum AND l.checksum = r.last_checksum
  ) THEN
    RAISE EXCEPTION 'the base of a chain moves only to the end of the next prune receipt'
      USING ERRCODE = 'insufficient_privilege';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER guard_base BEFORE UPDATE OF base_seq, base_checksum ON chain_head
  FOR EACH ROW EXECUTE FUNCTION guard_base();
ALTER TABLE chain_head ENABLE ALWAYS TRIGGER guard_base;

CREATE FUNCTION refuse_receipt_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'prune receipts are append-only: % refused', TG_OP USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON prune_receipts
  FOR EACH ROW EXECUTE FUNCTION refuse_receipt_change();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON prune_receipts
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_receipt_change();
ALTER TABLE prune_receipts ENABLE ALWAYS TRIGGER append_only;
ALTER TABLE prune_receipts ENABLE ALWAYS TRIGGER no_truncate;
