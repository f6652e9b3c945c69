-- Ending every session of a tenant must not read those of all the others.
CREATE INDEX sessions_tenant ON sessions (partner_id, org_id) WHERE revoked_at IS NULL;
CREATE INDEX sessions_organization ON sessions (org_id) WHERE revoked_at IS NULL;
