-- Set by an erasure, with the salt emptied and the personal fields null: what the payload hashes in their place.
ALTER TABLE audit_log ADD COLUMN personal_digest bytea;

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

CREATE POLICY checkpoint_read ON checkpoint FOR SELECT USING (
  (SELECT current_setting('app.scope', true)) = 'system'
  OR ((SELECT current_setting('app.scope', true)) = 'partner'
      AND partner_id = (SELECT nullif(current_setting('app.partner_id', true), '')::uuid)
      AND (org_id IS NULL
           OR (SELECT current_setting('app.org_access', true)) = 'all'
           OR org_id = ANY ((SELECT nullif(current_setting('app.org_ids', true), '')::uuid[])::uuid[])))
  OR ((SELECT current_setting('app.scope', true)) = 'organization'
      AND org_id = (SELECT nullif(current_setting('app.org_id', true), '')::uuid))
);
CREATE POLICY checkpoint_write ON checkpoint FOR INSERT
  WITH CHECK ((SELECT current_setting('app.scope', true)) = 'system');
CREATE POLICY checkpoint_copied ON checkpoint FOR UPDATE
  USING ((SELECT current_setting('app.scope', true)) = 'system')
  WITH CHECK ((SELECT current_setting('app.scope', true)) = 'system');
-- Old ones are thinned out (store/checkpoints.ts); young ones stay whatever happens.
CREATE POLICY checkpoint_thin ON checkpoint FOR DELETE
  USING ((SELECT current_setting('app.scope', true)) = 'system' AND created_at < now() - interval '7 days');
CREATE POLICY anchor_read ON anchor FOR SELECT USING ((SELECT current_setting('app.scope', true)) = 'system');
CREATE POLICY anchor_write ON anchor FOR INSERT WITH CHECK ((SELECT current_setting('app.scope', true)) = 'system');
CREATE POLICY anchor_copied ON anchor FOR UPDATE
  USING ((SELECT current_setting('app.scope', true)) = 'system')
  WITH CHECK ((SELECT current_setting('app.scope', true)) = 'system');
CREATE POLICY checkpoint_lease_system ON checkpoint_lease
  USING ((SELECT current_setting('app.scope', true)) = 'system')
  WITH CHECK ((SELECT current_setting('app.scope', true)) = 'system');

REVOKE UPDATE, TRUNCATE ON checkpoint FROM muster_audit_app;
REVOKE UPDATE, DELETE, TRUNCATE ON anchor FROM muster_audit_app;
REVOKE INSERT, DELETE, TRUNCATE ON checkpoint_lease FROM muster_audit_app;
GRANT UPDATE (copied_at) ON checkpoint TO muster_audit_app;
GRANT UPDATE (copied_at) ON anchor TO muster_audit_app;
