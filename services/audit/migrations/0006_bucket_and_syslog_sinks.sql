-- Sinks in a bucket of the customer, and syslog receivers.
ALTER TABLE audit_streams
  -- Bucket, region, endpoint, prefix, path style and access key's id; of type s3.
  ADD COLUMN bucket jsonb,
  ADD COLUMN bucket_secret_sealed bytea,
  -- PEM of the authority of the sink's certificate, where it is not one of the system's.
  ADD COLUMN ca text,
  -- Of type syslog: what was sent within the last minute, [{"after": seq, "at": ms}]: a broken connection sends it again.
  ADD COLUMN recent jsonb NOT NULL DEFAULT '[]',
  DROP CONSTRAINT audit_streams_type_check,
  ADD CONSTRAINT audit_streams_type_check CHECK (type IN ('webhook', 'archive', 'https', 's3', 'syslog')),
  ADD CONSTRAINT audit_streams_bucket CHECK ((type = 's3') = (bucket IS NOT NULL AND bucket_secret_sealed IS NOT NULL));
