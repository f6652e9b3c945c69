-- Types of events that organizations define for themselves, all below custom.
CREATE TABLE webhook_event_types (
  id uuid PRIMARY KEY,
  org_id uuid NOT NULL,
  partner_id uuid NOT NULL,
  type text NOT NULL CHECK (type ~ '^custom(\.[a-z0-9_]+)+$' AND length(type) <= 100),
  description text NOT NULL,
  -- Of `data`, JSON Schema 2020-12 as it was posted; null: any object.
  schema text,
  version text,
  -- `data` of an example, a JSON object.
  example text,
  -- Events of it are refused from now on.
  archived boolean NOT NULL DEFAULT false,
  -- Raised by each change.
  revision bigint NOT NULL DEFAULT 1,
  created_by text NOT NULL,
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL,
  UNIQUE (org_id, type)
);
ALTER TABLE webhook_event_types ENABLE ROW LEVEL SECURITY;
CALL policy('webhook_event_types_reached', 'webhook_event_types', 'all', 'organization');

-- Which events of its types a webhook gets: {siteIds, groupIds, labels}; null: all.
ALTER TABLE webhooks ADD COLUMN filter jsonb;
