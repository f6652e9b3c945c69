type Ids = { id: string; partnerId: string; orgId: string; siteId: string };

/**
 * Statements that insert one row of an organization into each table of the service, all with the same id, so that
 * references between them hold.
 */
export const oneRowOfEach = ({ id, partnerId, orgId, siteId }: Ids): string => `
  INSERT INTO tenant (kind, id, partner_id, org_id, version, status, deleted, updated_at) VALUES
    ('partner', '${partnerId}', '${partnerId}', NULL, 1, 'active', false, now()),
    ('organization', '${orgId}', '${partnerId}', '${orgId}', 1, 'active', false, now()),
    ('site', '${siteId}', '${partnerId}', '${orgId}', 1, '', false, now());
  INSERT INTO roles (id, name, scope, partner_id, org_id, permissions, created_at, updated_at)
    VALUES ('${id}', 'Own', 'organization', '${partnerId}', '${orgId}', '{}', now(), now());
  INSERT INTO users (id, email, name, scope, partner_id, org_id, role_id, password_hash, status, created_at, updated_at)
    VALUES ('${id}', '${id}@example.com', 'A', 'organization', '${partnerId}', '${orgId}', '${id}', '${id}', 'active', now(), now());
  INSERT INTO user_organizations (user_id, org_id, partner_id) VALUES ('${id}', '${orgId}', '${partnerId}');
  INSERT INTO user_sites (user_id, site_id, partner_id, org_id) VALUES ('${id}', '${siteId}', '${partnerId}', '${orgId}');
  INSERT INTO sessions (id, user_id, partner_id, org_id, family_secret, created_at, rotated_at, idle_expires_at, expires_at)
    VALUES ('${id}', '${id}', '${partnerId}', '${orgId}', '${id}', now(), now(), now(), now());
  INSERT INTO device_authorizations (id, device_hash, user_hash, client_name, interval_seconds, status, user_id, partner_id,
                                     org_id, session_id, created_at, expires_at)
    VALUES ('${id}', '${id}', '${id}', 'C', 5, 'approved', '${id}', '${partnerId}', '${orgId}', '${id}', now(), now());
  INSERT INTO invites (id, user_id, partner_id, org_id, token_hash, created_at, expires_at)
    VALUES ('${id}', '${id}', '${partnerId}', '${orgId}', '${id}', now(), now());
  INSERT INTO user_totp (user_id, secret, created_at) VALUES ('${id}', '${id}', now());
  INSERT INTO recovery_codes (user_id, code_hash) VALUES ('${id}', '${id}');
  INSERT INTO mfa_challenges (id, user_id, token_hash, created_at, expires_at) VALUES ('${id}', '${id}', '${id}', now(), now());
  INSERT INTO notification_lines (user_id, id, kind, org_id, partner_id, permission, line, link, created_at)
    VALUES ('${id}', '${id}', 'audit_alert', '${orgId}', '${partnerId}', 'audit:read', 'L', '', now());
  INSERT INTO notification_choices (user_id, kind) VALUES ('${id}', 'audit_alert');
  INSERT INTO passkeys (id, user_id, credential_id, public_key, counter, transports, aaguid, multi_device, backed_up, name,
                        created_at)
    VALUES ('${id}', '${id}', '${id}', '${id}', 0, '{}', '${id}', false, false, 'K', now());
  INSERT INTO passkey_challenges (challenge_hash, user_id, purpose, session_id, expires_at)
    VALUES ('${id}', '${id}', 'register', '${id}', now());
  INSERT INTO password_resets (id, user_id, token_hash, created_at, expires_at) VALUES ('${id}', '${id}', '${id}', now(), now());
  INSERT INTO sso_providers (id, partner_id, org_id, name, type, scopes, created_by, created_at, updated_at)
    VALUES ('${id}', '${partnerId}', '${orgId}', 'P', 'oidc', 'openid', '${id}', now(), now());
  INSERT INTO sso_login_sessions (state_hash, provider_id, generation, kind, redirect_url, created_at, expires_at)
    VALUES ('${id}', '${id}', 1, 'login', '/', now(), now());
  INSERT INTO sso_identities (provider_id, user_id, partner_id, org_id, external_id, created_at)
    VALUES ('${id}', '${id}', '${partnerId}', '${orgId}', '${id}', now());
  INSERT INTO sso_exchange_codes (code_hash, user_id, provider_id, generation, mfa, created_at, expires_at)
    VALUES ('${id}', '${id}', '${id}', 1, false, now(), now());
  INSERT INTO sso_assertions (provider_id, assertion_hash, expires_at) VALUES ('${id}', '${id}', now());
  INSERT INTO sso_attempts (id, provider_id, partner_id, org_id, kind, outcome, step, created_at)
    VALUES ('${id}', '${id}', '${partnerId}', '${orgId}', 'login', 'success', 'code', now());
  INSERT INTO sso_domains (id, partner_id, org_id, domain, token, created_by, created_at)
    VALUES ('${id}', '${partnerId}', '${orgId}', '${id}.example', '${id}', '${id}', now());
  INSERT INTO portal_links (id, partner_id, org_id, name, capabilities, embed_origins, code_digest, author_type, author_id,
                            created_at, expires_at)
    VALUES ('${id}', '${partnerId}', '${orgId}', 'L', '{}', '{}', '${id}', 'user', '${id}', now(), now());
  INSERT INTO directories (id, partner_id, org_id, name, created_by, created_at, updated_at)
    VALUES ('${id}', '${partnerId}', '${orgId}', 'D', '${id}', now(), now());
  INSERT INTO directory_tokens (id, directory_id, partner_id, org_id, digest, prefix, created_at)
    VALUES ('${id}', '${id}', '${partnerId}', '${orgId}', '${id}', 'x', now());
  INSERT INTO directory_requests (id, directory_id, partner_id, org_id, created_at, operation, outcome)
    VALUES ('${id}', '${id}', '${partnerId}', '${orgId}', now(), 'list', 'ok');
  INSERT INTO directory_cycles (directory_id, partner_id, org_id, started_at, last_at, requests, refused, created, changed,
                                deleted)
    VALUES ('${id}', '${partnerId}', '${orgId}', now(), now(), 1, 0, 0, 0, 0);
  INSERT INTO scim_users (user_id, directory_id, partner_id, org_id, user_name_key, emails, active, document, created_at,
                          updated_at)
    VALUES ('${id}', '${id}', '${partnerId}', '${orgId}', '${id}', '{}', true, '{}', now(), now());
  INSERT INTO scim_groups (id, directory_id, partner_id, org_id, display_name, display_name_key, created_at, updated_at)
    VALUES ('${id}', '${id}', '${partnerId}', '${orgId}', 'G', 'g', now(), now());
  INSERT INTO scim_members (group_id, user_id, directory_id, partner_id, org_id)
    VALUES ('${id}', '${id}', '${id}', '${partnerId}', '${orgId}');
  INSERT INTO role_mappings (id, directory_id, partner_id, org_id, position, claim, role_id, created_at)
    VALUES ('${id}', '${id}', '${partnerId}', '${orgId}', 0, 'c', '${id}', now());
  INSERT INTO pending_roles (directory_id, user_id, partner_id, org_id, cause, created_at)
    VALUES ('${id}', '${id}', '${partnerId}', '${orgId}', 'mapping', now());
  INSERT INTO sign_in_policies (partner_id, org_id, require_second_factor, updated_at)
    VALUES ('${partnerId}', '${orgId}', false, now()) ON CONFLICT DO NOTHING;
  INSERT INTO login_branding (partner_id, headline, updated_at) VALUES ('${partnerId}', 'H', now()) ON CONFLICT DO NOTHING;
  INSERT INTO mail (id, kind, sealed, next_at, expires_at, created_at) VALUES ('${id}', 'invite', '${id}', now(), now(), now());
  INSERT INTO failed_attempts (bucket, user_id, failed_at, expires_at) VALUES ('${id}', '${id}', '{}', now());
  INSERT INTO failed_logins (user_id, minute, failures) VALUES ('${id}', now(), 1);
  INSERT INTO service_principals (id, org_id, partner_id, name, scopes, status, created_by, created_at, updated_at)
    VALUES ('${id}', '${orgId}', '${partnerId}', 'P', '{}', 'active', '${id}', now(), now());
  INSERT INTO api_keys (id, org_id, partner_id, name, key_prefix, digest, scopes, rate_limit, status, created_by, created_at,
                        updated_at)
    VALUES ('${id}', '${orgId}', '${partnerId}', 'K', 'svc_x', '${id}', '{}', 1, 'active', '${id}', now(), now());
  INSERT INTO enrollment_keys (id, org_id, partner_id, name, key_prefix, digest, pepper_id, expires_at, created_by, created_at,
                               updated_at)
    VALUES ('${id}', '${orgId}', '${partnerId}', 'E', 'x', '${id}', 'x', now(), '${id}', now(), now());
  INSERT INTO enrollment_reservations (key_id, device_id, generation, reserved_until) VALUES ('${id}', '${id}', 1, now());
  INSERT INTO agent_tokens (device_id, org_id, partner_id, digest, created_at)
    VALUES ('${id}', '${orgId}', '${partnerId}', '${id}', now());
  INSERT INTO rate_windows (kind, id) VALUES ('key', '${id}');
  INSERT INTO rate_hours (kind, id) VALUES ('key', '${id}');
  INSERT INTO gateways (id, lease_until) VALUES ('${id}', now());
  INSERT INTO change_acknowledgements (change_id, gateway_id) VALUES ('${id}', '${id}');
  INSERT INTO refusals (actor_id, action, minute, refused) VALUES ('${id}', '${id}', now(), 1);`;
