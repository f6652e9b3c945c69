-- Changes of devices wait by organization: very many of one (a network that fails and comes back) went before the
-- suspensions and deletions of all other tenants, which were published in one order with them.
DROP INDEX outbox_lanes;
ALTER TABLE outbox DROP COLUMN lane;
ALTER TABLE outbox ADD COLUMN lane text NOT NULL GENERATED ALWAYS AS (
  CASE split_part(subject, '.', 1)
    WHEN 'events' THEN 'events.' || split_part(subject, '.', 3)
    WHEN 'audit' THEN subject
    WHEN 'tenancy' THEN
      CASE split_part(subject, '.', 2) WHEN 'device' THEN 'tenancy.' || split_part(msg_id, '/', 1) ELSE 'tenancy' END
    ELSE split_part(subject, '.', 1)
  END
) STORED;
CREATE INDEX outbox_lanes ON outbox (lane, id) WHERE published_at IS NULL;
