-- Streams that need attention: few of all.
CREATE INDEX audit_streams_failing ON audit_streams (created_at DESC, id DESC)
  WHERE status = 'failed' OR (status = 'active' AND failures > 0);
