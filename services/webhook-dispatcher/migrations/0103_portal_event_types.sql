-- Portal sessions read the event types of their organization, and change none.
DO $rls$
DECLARE
  own constant text := $q$org_id = (SELECT nullif(current_setting('app.org_id', true), '')::uuid)$q$;
  scope constant text := $q$(SELECT current_setting('app.scope', true))$q$;
BEGIN
  EXECUTE format('CREATE POLICY webhook_event_types_portal ON webhook_event_types FOR SELECT USING (%s IN (%L, %L) AND %s)',
    scope, 'portal', 'portal_read', own);
END
$rls$;
