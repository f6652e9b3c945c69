-- Files of export jobs: parts from 1 on, the manifest as number 0.
CREATE TABLE export_part (
  export_id uuid NOT NULL,
  number integer NOT NULL CHECK (number >= 0),
  rows integer NOT NULL,
  first_seq bigint,
  last_seq bigint,
  -- Of the text, before it was compressed.
  bytes bigint NOT NULL,
  sha256 text NOT NULL,
  -- Gzip.
  content bytea NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (export_id, number)
);
-- Compressed already.
ALTER TABLE export_part ALTER COLUMN content SET STORAGE EXTERNAL;
ALTER TABLE export_part ENABLE ROW LEVEL SECURITY;
CALL policy('export_part_system', 'export_part', 'all', 'system');

-- Whoever may ask for an export queues it in their own transaction, with the audit row and the stored reply.
CREATE POLICY job_export ON job FOR INSERT
  WITH CHECK (kind = 'audit.export' AND state = 'queued' AND cursor IS NULL AND result IS NULL
              AND (SELECT current_setting('app.scope', true)) IN ('system', 'partner', 'organization'));
CREATE INDEX job_exports ON job (((input->>'chainId')::uuid), id DESC) WHERE kind = 'audit.export';
