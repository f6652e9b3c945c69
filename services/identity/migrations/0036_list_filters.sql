-- Lists by status and by what can still be used: the ones looked for may be a handful among a million.
CREATE INDEX api_keys_by_status ON api_keys (status, created_at DESC, id DESC) INCLUDE (expires_at);
CREATE INDEX api_keys_of_partner_by_status ON api_keys (partner_id, status, created_at DESC, id DESC) INCLUDE (expires_at);
CREATE INDEX api_keys_of_organization_by_status ON api_keys (org_id, status, created_at DESC, id DESC) INCLUDE (expires_at);
-- Keys whose end has come, or will: one that nobody presents again is marked by a job.
CREATE INDEX api_keys_ending ON api_keys (expires_at) WHERE status = 'active' AND expires_at IS NOT NULL;
CREATE INDEX service_principals_of_organization_by_status ON service_principals (org_id, status, created_at DESC, id DESC);
CREATE INDEX enrollment_keys_ending ON enrollment_keys (expires_at);
CREATE INDEX enrollment_keys_of_partner_ending ON enrollment_keys (partner_id, expires_at);
CREATE INDEX enrollment_keys_of_organization_ending ON enrollment_keys (org_id, expires_at);
