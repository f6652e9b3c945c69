-- Sinks over https: what a batch looks like, and headers of the sink's own.
ALTER TABLE audit_streams
  ADD COLUMN format text NOT NULL DEFAULT 'muster' CHECK (format IN ('muster', 'ocsf')),
  ADD COLUMN envelope text CHECK (envelope IN ('ndjson', 'array', 'splunk-hec', 'elastic-bulk')),
  ADD COLUMN headers_sealed bytea,
  ADD COLUMN header_keys text[] NOT NULL DEFAULT '{}',
  DROP CONSTRAINT audit_streams_type_check,
  ADD CONSTRAINT audit_streams_type_check CHECK (type IN ('webhook', 'archive', 'https')),
  ADD CONSTRAINT audit_streams_sink_check CHECK (
    (type = 'https') = (envelope IS NOT NULL)
    AND (type <> 'https' OR (url_sealed IS NOT NULL AND url_shown IS NOT NULL AND headers_sealed IS NOT NULL)));
