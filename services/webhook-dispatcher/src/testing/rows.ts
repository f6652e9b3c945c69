/** Statements that put one row of an organization into each table of the service, all under one id. */
export const oneRowOfEach = ({ id, orgId, partnerId }: { id: string; orgId: string; partnerId: string }): string => `
  INSERT INTO webhooks (id, org_id, partner_id, name, url_sealed, url_shown, headers_sealed, events, created_by,
                        created_at, updated_at)
    VALUES ('${id}', '${orgId}', '${partnerId}', 'Hook', 'x', 'https://x', 'x', '{*}', '${id}', now(), now());
  INSERT INTO webhook_endpoint_state (webhook_id, org_id, partner_id) VALUES ('${id}', '${orgId}', '${partnerId}');
  INSERT INTO webhook_health (webhook_id, org_id, partner_id) VALUES ('${id}', '${orgId}', '${partnerId}');
  INSERT INTO webhook_health_notices (id, webhook_id, org_id, partner_id, user_ids, line, created_at)
    VALUES ('${id}', '${id}', '${orgId}', '${partnerId}', '{}', 'x', now());
  INSERT INTO webhook_organizations VALUES ('${orgId}', '${partnerId}') ON CONFLICT DO NOTHING;
  INSERT INTO webhook_event_types (id, org_id, partner_id, type, description, created_by, created_at, updated_at)
    VALUES ('${id}', '${orgId}', '${partnerId}', 'custom.thing', 'x', '${id}', now(), now());
  INSERT INTO webhook_event_keys VALUES ('${orgId}', '${id}', now());
  INSERT INTO webhook_backlog (org_id, event_id, type, occurred_at, body)
    VALUES ('${orgId}', '${id}', 'device.online', now(), '{}');
  INSERT INTO webhook_replays (id, webhook_id, org_id, partner_id, since, until, status_filter, created_by, created_at)
    VALUES ('${id}', '${id}', '${orgId}', '${partnerId}', now(), now(), 'all', '${id}', now());
  INSERT INTO webhook_events VALUES ('${orgId}', '${id}', now(), '${partnerId}', 'device.online', '{}');
  INSERT INTO webhook_deliveries (id, created_at, webhook_id, org_id, partner_id, event_id, event)
    VALUES ('${id}', now(), '${id}', '${orgId}', '${partnerId}', '${id}', 'device.online');
  INSERT INTO webhook_queue (delivery_id, created_at, webhook_id, org_id, partner_id, event_id, due_at)
    VALUES ('${id}', now(), '${id}', '${orgId}', '${partnerId}', '${id}', now());
  INSERT INTO webhook_attempts (delivery_id, created_at, number, org_id, partner_id, started_at)
    VALUES ('${id}', now(), 1, '${orgId}', '${partnerId}', now());
  INSERT INTO webhook_dead_letters (id, org_id, partner_id, webhook_id, delivery_id, delivery_created_at, event,
                                    event_id, reason, attempts, created_at)
    VALUES ('${id}', '${orgId}', '${partnerId}', '${id}', '${id}', now(), 'device.online', '${id}', 'x', 6, now())`;
