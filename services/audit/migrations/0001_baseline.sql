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
  -- Set by an erasure, with the salt emptied and the personal fields null: what the payload hashes in their place.
  personal_digest bytea,
  PRIMARY KEY (chain_id, seq),
  UNIQUE (chain_id, id)
) PARTITION BY HASH (chain_id);

CREATE INDEX audit_log_by_chain ON audit_log (chain_id, timestamp DESC, id DESC);
CREATE INDEX audit_log_by_partner ON audit_log (partner_id, timestamp DESC, id DESC);
CREATE INDEX audit_log_by_time ON audit_log (timestamp DESC, id DESC);
CREATE INDEX audit_log_by_id ON audit_log (id);
-- `action` filters: the actions of a chain are few, so "contains" becomes equality over those that match, newest first.
CREATE INDEX audit_log_by_action ON audit_log (chain_id, action, timestamp DESC, id DESC);

-- A row goes only by the pruner's hand, and only after its receipt was written and the base of its chain moved past it.
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
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

CALL policy('audit_log_read', 'audit_log', 'select', 'tenant');
CALL policy('audit_log_seal', 'audit_log', 'insert', 'system');

CALL policy('chain_head_read', 'chain_head', 'select', 'tenant');
CALL policy('chain_head_seal', 'chain_head', 'insert', 'system');
CALL policy('chain_head_move', 'chain_head', 'update', 'system');

-- Signed heads: what a chain alone cannot know of itself. Also on the stream CHECKPOINTS, and as copies outside if set.
CREATE TABLE checkpoint (
  chain_id uuid NOT NULL,
  seq bigint NOT NULL CHECK (seq > 0),
  org_id uuid,
  partner_id uuid,
  -- In the order in which they were made: an anchor covers all up to one.
  id bigint GENERATED ALWAYS AS IDENTITY,
  checksum text NOT NULL,
  note text NOT NULL,
  created_at timestamptz(3) NOT NULL,
  copied_at timestamptz(3),
  PRIMARY KEY (chain_id, seq)
);
CREATE UNIQUE INDEX checkpoint_by_id ON checkpoint (id);
CREATE INDEX checkpoint_by_time ON checkpoint (created_at DESC, id DESC);
CREATE INDEX checkpoint_by_partner ON checkpoint (partner_id, id DESC);
CREATE INDEX checkpoint_uncopied ON checkpoint (id) WHERE copied_at IS NULL;

-- Hourly over the newest checkpoint of each chain: root of the Merkle tree (RFC 6962) over their notes in order of chain_id.
CREATE TABLE anchor (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  up_to bigint NOT NULL,
  chains integer NOT NULL CHECK (chains > 0),
  root text NOT NULL,
  note text NOT NULL,
  created_at timestamptz(3) NOT NULL,
  copied_at timestamptz(3)
);

-- The one checkpointer that is active.
CREATE TABLE checkpoint_lease (
  single boolean PRIMARY KEY DEFAULT true CHECK (single),
  holder uuid,
  expires_at timestamptz NOT NULL DEFAULT '-infinity'
);
INSERT INTO checkpoint_lease DEFAULT VALUES;

ALTER TABLE checkpoint ENABLE ROW LEVEL SECURITY;
ALTER TABLE anchor ENABLE ROW LEVEL SECURITY;
ALTER TABLE checkpoint_lease ENABLE ROW LEVEL SECURITY;

CALL policy('checkpoint_read', 'checkpoint', 'select', 'tenant');
CALL policy('checkpoint_write', 'checkpoint', 'insert', 'system');
CALL policy('checkpoint_copied', 'checkpoint', 'update', 'system');
-- Old ones are thinned out (store/checkpoints.ts); young ones stay whatever happens.
CREATE POLICY checkpoint_thin ON checkpoint FOR DELETE
  USING ((SELECT current_setting('app.scope', true)) = 'system' AND created_at < now() - interval '7 days');
CALL policy('anchor_read', 'anchor', 'select', 'system');
CALL policy('anchor_write', 'anchor', 'insert', 'system');
CALL policy('anchor_copied', 'anchor', 'update', 'system');
CALL policy('checkpoint_lease_system', 'checkpoint_lease', 'all', 'system');

REVOKE UPDATE, TRUNCATE ON checkpoint FROM muster_audit_app;
REVOKE UPDATE, DELETE, TRUNCATE ON anchor FROM muster_audit_app;
REVOKE INSERT, DELETE, TRUNCATE ON checkpoint_lease FROM muster_audit_app;
GRANT UPDATE (copied_at) ON checkpoint TO muster_audit_app;
GRANT UPDATE (copied_at) ON anchor TO muster_audit_app;

-- Whoever may ask for a verification queues it in their own transaction, with the audit row and the stored reply.
CREATE POLICY job_verify ON job FOR INSERT
  WITH CHECK (kind = 'audit.verify' AND state = 'queued' AND cursor IS NULL AND result IS NULL
              AND (SELECT current_setting('app.scope', true)) IN ('system', 'partner', 'organization'));

-- Retention: policies of organizations, receipts of what was pruned, and the one role that may delete rows.
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

CALL policy('retention_policy_own', 'retention_policy', 'all', 'tenant');
CALL policy('chain_cleanup_read', 'chain_cleanup', 'select', 'tenant');
CALL policy('chain_cleanup_write', 'chain_cleanup', 'all', 'system');
CALL policy('prune_receipts_read', 'prune_receipts', 'select', 'tenant');
CALL policy('prune_receipts_write', 'prune_receipts', 'insert', 'system');
CALL policy('retention_lease_system', 'retention_lease', 'all', 'system');
CALL policy('audit_log_prune', 'audit_log', 'delete', 'system', 'muster_audit_pruner');

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

-- Rows of an organization's chain that flow out: where to, and how far they have come.
CREATE TABLE audit_streams (
  id uuid PRIMARY KEY,
  org_id uuid NOT NULL,
  partner_id uuid NOT NULL,
  name varchar(255) NOT NULL CHECK (name <> ''),
  type text NOT NULL CHECK (type IN ('webhook', 'archive')),
  url_sealed bytea,
  -- Without userinfo and tokens: what replies and logs may show.
  url_shown text,
  secret_sealed bytea,
  status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'paused', 'failed')),
  -- The last row that was taken.
  cursor_seq bigint NOT NULL,
  -- The last row of the batch that is sent until it is taken: a repeat has the same rows and the same id.
  batch_to bigint,
  -- Whoever took it may have seen it: its answer never came.
  is_doubtful boolean NOT NULL DEFAULT false,
  rows_sent bigint NOT NULL DEFAULT 0,
  failures integer NOT NULL DEFAULT 0,
  failing_since timestamptz(3),
  last_error text,
  last_error_at timestamptz(3),
  last_success_at timestamptz(3),
  next_attempt_at timestamptz NOT NULL DEFAULT now(),
  -- Whose turn it is; `fence` grows with each holder.
  leased_until timestamptz,
  fence bigint NOT NULL DEFAULT 0,
  created_by text NOT NULL,
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL,
  CHECK (type <> 'webhook' OR (url_sealed IS NOT NULL AND url_shown IS NOT NULL AND secret_sealed IS NOT NULL))
);
CREATE INDEX audit_streams_by_org ON audit_streams (org_id, created_at DESC, id DESC);
CREATE INDEX audit_streams_due ON audit_streams (next_attempt_at) WHERE status = 'active';

ALTER TABLE audit_streams ENABLE ROW LEVEL SECURITY;
CALL policy('audit_streams_own', 'audit_streams', 'all', 'organization');
