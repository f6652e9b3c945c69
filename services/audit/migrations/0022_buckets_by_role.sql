-- Buckets of customers by a role that the service assumes, instead of an access key.
ALTER TABLE audit_streams
  DROP CONSTRAINT audit_streams_bucket,
  ADD CONSTRAINT audit_streams_bucket CHECK (
    (type = 's3') = (bucket IS NOT NULL)
    AND (bucket_secret_sealed IS NOT NULL) = (type = 's3' AND NOT coalesce(bucket ? 'roleArn', false))
  );
