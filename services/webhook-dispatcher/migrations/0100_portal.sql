-- Sessions of the webhook portal (docs/webhooks/portal.md). Their scope is `portal`, or `portal_read` where they change nothing;
-- every other policy of every service names the scopes that it admits, so these rows are all that such a session ever sees.
DO $rls$
DECLARE
  name text;
  own constant text := $q$org_id = (SELECT nullif(current_setting('app.org_id', true), '')::uuid)$q$;
  scope constant text := $q$(SELECT current_setting('app.scope', true))$q$;
BEGIN
  FOREACH name IN ARRAY ARRAY['webhooks', 'webhook_endpoint_state', 'webhook_organizations', 'webhook_events',
                              'webhook_deliveries', 'webhook_queue', 'webhook_attempts', 'webhook_dead_letters',
                              'webhook_replays'] LOOP
    EXECUTE format('CREATE POLICY %I ON %I FOR ALL USING (%s = %L AND %s)', name || '_portal', name, scope, 'portal', own);
    EXECUTE format('CREATE POLICY %I ON %I FOR SELECT USING (%s = %L AND %s)', name || '_portal_read', name, scope,
      'portal_read', own);
  END LOOP;
  EXECUTE format('CREATE POLICY tenant_portal ON tenant FOR SELECT USING (%s IN (%L, %L) AND kind = %L AND %s)', scope,
    'portal', 'portal_read', 'organization', own);
END
$rls$;
