-- The list of sign-ins through all providers in reach, newest first.
CREATE INDEX sso_attempts_of_partner ON sso_attempts (partner_id, created_at DESC, id DESC);
CREATE INDEX sso_attempts_of_organization ON sso_attempts (org_id, created_at DESC, id DESC) WHERE org_id IS NOT NULL;
CREATE INDEX sso_attempts_of_all ON sso_attempts (created_at DESC, id DESC);
