-- Subscriptions of organizations. What leaves the building with them is sealed: url, secrets and the values of headers.
CREATE TABLE webhooks (
  id uuid PRIMARY KEY,
  org_id uuid NOT NULL,
  partner_id uuid NOT NULL,
  name varchar(255) NOT NULL CHECK (name <> ''),
  url_sealed bytea NOT NULL,
  -- Without userinfo and tokens: what replies and logs may show.
  url_shown text NOT NULL,
  secret_sealed bytea,
  -- Signs beside the other until then.
  previous_secret_sealed bytea,
  previous_secret_until timestamptz(3),
  -- JSON array of {key, value}.
  headers_sealed bytea NOT NULL,
  header_names text[] NOT NULL DEFAULT '{}',
  -- Types of the catalogue, or '*' alone.
  events text[] NOT NULL CHECK (cardinality(events) > 0),
  -- The API says active, paused, failed.
  status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'disabled', 'error')),
  retry_policy jsonb,
  ordered boolean NOT NULL DEFAULT false,
  -- Raised by each change of what is sent, and where to.
  generation bigint NOT NULL DEFAULT 1,
  created_by text NOT NULL,
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL,
  -- The organization or its partner was deleted: nothing is matched or sent.
  stopped_at timestamptz(3),
  -- Hidden, nothing is sent, and a job removes its deliveries and then this row.
  deleted_at timestamptz(3)
);
CREATE INDEX webhooks_by_org ON webhooks (org_id, created_at DESC, id DESC) WHERE deleted_at IS NULL;
CREATE INDEX webhooks_by_partner ON webhooks (partner_id, org_id) WHERE deleted_at IS NULL;
CREATE INDEX webhooks_deleted ON webhooks (deleted_at) WHERE deleted_at IS NOT NULL;

-- What happens all the time to an endpoint, apart from the row that people change: counters, breaker, health.
CREATE TABLE webhook_endpoint_state (
  webhook_id uuid PRIMARY KEY REFERENCES webhooks (id) ON DELETE CASCADE,
  org_id uuid NOT NULL,
  partner_id uuid NOT NULL,
  -- Finished deliveries.
  success_count bigint NOT NULL DEFAULT 0,
  failure_count bigint NOT NULL DEFAULT 0,
  last_delivery_at timestamptz(3),
  last_success_at timestamptz(3),
  -- Deliveries that failed for good since the last success, and since when.
  failed_in_a_row integer NOT NULL DEFAULT 0,
  failing_since timestamptz(3),
  -- Requests at a time; less after the breaker was open.
  slots smallint NOT NULL DEFAULT 8,
  open_until timestamptz(3),
  open_seconds integer NOT NULL DEFAULT 0,
  -- What the breaker counts, over 60 s.
  window_started_at timestamptz(3),
  window_attempts integer NOT NULL DEFAULT 0,
  window_deliveries integer NOT NULL DEFAULT 0,
  window_failures integer NOT NULL DEFAULT 0,
  last_failure_at timestamptz(3),
  -- Attempts since the last success.
  failed_attempts bigint NOT NULL DEFAULT 0,
  -- Why the dispatcher marked it failed: gone, exhausted.
  failed_reason text
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);

-- Ids of events that were matched, so that a repeat, whatever time it bears, is none.
CREATE TABLE webhook_event_keys (
  org_id uuid NOT NULL,
  event_id uuid NOT NULL,
  occurred_at timestamptz(3) NOT NULL,
  PRIMARY KEY (org_id, event_id)
);
CREATE INDEX webhook_event_keys_age ON webhook_event_keys USING brin (occurred_at);

-- The body that is sent, once for all webhooks of an organization; `occurred_at` is `created_at` of its deliveries.
CREATE TABLE webhook_events (
  org_id uuid NOT NULL,
  id uuid NOT NULL,
  occurred_at timestamptz(3) NOT NULL,
  partner_id uuid NOT NULL,
  type text NOT NULL,
  -- The envelope, byte for byte as it is sent and signed.
  body text NOT NULL,
  PRIMARY KEY (org_id, id, occurred_at)
) PARTITION BY RANGE (occurred_at);

CREATE TABLE webhook_deliveries (
  id uuid NOT NULL,
  created_at timestamptz(3) NOT NULL,
  webhook_id uuid NOT NULL,
  org_id uuid NOT NULL,
  partner_id uuid NOT NULL,
  event_id uuid NOT NULL,
  event text NOT NULL,
  -- event, test, retry or replay.
  origin text NOT NULL DEFAULT 'event',
  -- The failed delivery that a retry repeats.
  retry_of uuid,
  status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'delivered', 'failed', 'retrying')),
  attempt smallint NOT NULL DEFAULT 0,
  next_attempt_at timestamptz(3),
  delivered_at timestamptz(3),
  finished_at timestamptz(3),
  response_status smallint,
  response_body text,
  response_time_ms integer,
  error_code text,
  error_message text,
  PRIMARY KEY (id, created_at)
) PARTITION BY RANGE (created_at);
-- None on status: updates stay in their page.
CREATE INDEX webhook_deliveries_by_webhook ON webhook_deliveries (webhook_id, created_at DESC, id DESC);

-- One row per delivery that must still be sent.
CREATE TABLE webhook_queue (
  delivery_id uuid PRIMARY KEY,
  created_at timestamptz(3) NOT NULL,
  webhook_id uuid NOT NULL,
  org_id uuid NOT NULL,
  partner_id uuid NOT NULL,
  event_id uuid NOT NULL,
  -- When it may be sent; the end of the lease while it is.
  due_at timestamptz NOT NULL,
  leased boolean NOT NULL DEFAULT false,
  -- It waited for a retry once: first attempts go before.
  is_retry boolean NOT NULL DEFAULT false,
  -- Attempts begun; the fence of whoever holds the lease.
  attempt smallint NOT NULL DEFAULT 0,
  -- Attempts that used up the schedule, and leases that ran out.
  failures smallint NOT NULL DEFAULT 0,
  interruptions smallint NOT NULL DEFAULT 0,
  replay_id uuid
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX webhook_queue_due ON webhook_queue (webhook_id, is_retry, due_at);
CREATE INDEX webhook_queue_leased ON webhook_queue (webhook_id, due_at) WHERE leased;
CREATE INDEX webhook_queue_by_replay ON webhook_queue (replay_id) WHERE replay_id IS NOT NULL;

-- What was sent and what came back; with the delivery's own time, so that it lies and goes with its day.
CREATE TABLE webhook_attempts (
  delivery_id uuid NOT NULL,
  created_at timestamptz(3) NOT NULL,
  number smallint NOT NULL,
  org_id uuid NOT NULL,
  partner_id uuid NOT NULL,
  started_at timestamptz(3) NOT NULL,
  connected_ms integer,
  headers_ms integer,
  total_ms integer,
  remote_address text,
  reused boolean NOT NULL DEFAULT false,
  interrupted boolean NOT NULL DEFAULT false,
  possible_duplicate boolean NOT NULL DEFAULT false,
  request_headers jsonb,
  response_status smallint,
  response_body text,
  error_code text,
  error_message text,
  PRIMARY KEY (delivery_id, created_at, number)
) PARTITION BY RANGE (created_at);

-- Deliveries whose retries are exhausted.
CREATE TABLE webhook_dead_letters (
  id uuid PRIMARY KEY,
  org_id uuid NOT NULL,
  partner_id uuid NOT NULL,
  webhook_id uuid NOT NULL,
  delivery_id uuid NOT NULL,
  delivery_created_at timestamptz(3) NOT NULL,
  event text NOT NULL,
  event_id uuid NOT NULL,
  reason text NOT NULL,
  attempts smallint NOT NULL,
  created_at timestamptz(3) NOT NULL,
  requeued_at timestamptz(3),
  UNIQUE (delivery_id)
);
CREATE INDEX webhook_dead_letters_by_org ON webhook_dead_letters (org_id, created_at DESC, id DESC);
CREATE INDEX webhook_dead_letters_by_webhook ON webhook_dead_letters (webhook_id, created_at DESC, id DESC);
CREATE INDEX webhook_dead_letters_age ON webhook_dead_letters USING brin (created_at);

-- Every tenant table alike: its organization's people, its partner's within their grants, the system.
DO $rls$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['webhooks', 'webhook_endpoint_state', 'webhook_events', 'webhook_deliveries',
                              'webhook_queue', 'webhook_attempts', 'webhook_dead_letters'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
    CALL policy(name || '_reached', name::regclass, 'all', 'organization');
  END LOOP;
END
$rls$;

ALTER TABLE webhook_event_keys ENABLE ROW LEVEL SECURITY;
CALL policy('webhook_event_keys_system', 'webhook_event_keys', 'all', 'system');

-- Days (UTC) of the partitioned tables, made ahead of their time. With the owner's rights, because the application owns
-- nothing; the names of what it makes are its own.
CREATE FUNCTION ensure_webhook_days(first_day date, last_day date) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = webhook_dispatcher, pg_temp AS $$
DECLARE
  parent text;
  part text;
  day date;
  made integer := 0;
BEGIN
  IF last_day - first_day > 400 OR last_day > (now() AT TIME ZONE 'UTC')::date + 31 THEN
    RAISE EXCEPTION 'days % to % are too many or too far', first_day, last_day;
  END IF;
  PERFORM pg_advisory_xact_lock(hashtextextended('webhook days', 0));
  FOR day IN SELECT generate_series(first_day, last_day, interval '1 day')::date LOOP
    FOREACH parent IN ARRAY ARRAY['webhook_events', 'webhook_deliveries', 'webhook_attempts'] LOOP
      part := parent || to_char(day, '_YYYYMMDD');
      CONTINUE WHEN to_regclass(part) IS NOT NULL;
      EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES FROM (%L) TO (%L) WITH (fillfactor = %s)', part, parent,
        (day::timestamp AT TIME ZONE 'UTC'), ((day + 1)::timestamp AT TIME ZONE 'UTC'),
        CASE parent WHEN 'webhook_deliveries' THEN 75 ELSE 100 END);
      -- Reached through the parent, whose policies count; by its own name only the system sees it.
      EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', part);
      CALL policy(part || '_system', part::regclass, 'all', 'system');
      made := made + 1;
    END LOOP;
  END LOOP;
  RETURN made;
END $$;

-- Removes days before `kept`, one day at a time so that locks are short; gives the number of tables dropped.
CREATE FUNCTION drop_webhook_days(kept date, most integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = webhook_dispatcher, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
  part text;
  dropped integer := 0;
BEGIN
  IF kept > (now() AT TIME ZONE 'UTC')::date THEN
    RAISE EXCEPTION 'today is kept';
  END IF;
  PERFORM pg_advisory_xact_lock(hashtextextended('webhook days', 0));
  FOR part IN
    SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent IN ('webhook_events'::regclass, 'webhook_deliveries'::regclass, 'webhook_attempts'::regclass)
      AND right(c.relname, 8) < to_char(kept, 'YYYYMMDD')
    ORDER BY right(c.relname, 8), c.relname LIMIT most
  LOOP
    EXECUTE format('DROP TABLE %I', part);
    dropped := dropped + 1;
  END LOOP;
  RETURN dropped;
END $$;

GRANT EXECUTE ON FUNCTION ensure_webhook_days(date, date) TO muster_webhook_dispatcher_app;
GRANT EXECUTE ON FUNCTION drop_webhook_days(date, integer) TO muster_webhook_dispatcher_app;

-- Eight days back, because streams keep messages for seven.
SELECT ensure_webhook_days((now() AT TIME ZONE 'UTC')::date - 8, (now() AT TIME ZONE 'UTC')::date + 7);

-- Events of an organization that emits very many at once, put aside by the matcher with one insert each, so that everybody else's are
-- not behind them in the stream. Taken up again a few per organization at a time.
CREATE TABLE webhook_backlog (
  id bigint GENERATED ALWAYS AS IDENTITY,
  org_id uuid NOT NULL,
  event_id uuid NOT NULL,
  type text NOT NULL,
  occurred_at timestamptz(3) NOT NULL,
  body text NOT NULL,
  -- Place in the stream of events that an ordered webhook gets: they are taken up by it, and not before everything up to it is
  -- stored. 0: any time.
  seq bigint NOT NULL DEFAULT 0,
  put_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (org_id, seq, id)
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);

ALTER TABLE webhook_backlog ENABLE ROW LEVEL SECURITY;
CALL policy('webhook_backlog_system', 'webhook_backlog', 'all', 'system');

-- Sending again, bit by bit. A replay's deliveries all bear its own time, so that (webhook_id, created_at) finds them.
CREATE TABLE webhook_replays (
  id uuid PRIMARY KEY,
  webhook_id uuid NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
  org_id uuid NOT NULL,
  partner_id uuid NOT NULL,
  since timestamptz(3) NOT NULL,
  until timestamptz(3) NOT NULL,
  status_filter text NOT NULL CHECK (status_filter IN ('failed', 'delivered', 'all')),
  -- Empty: any.
  events text[] NOT NULL DEFAULT '{}',
  state text NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'running', 'done', 'cancelled')),
  -- The last delivery that was looked at.
  position_at timestamptz(3),
  position_id uuid,
  read_to_end boolean NOT NULL DEFAULT false,
  queued bigint NOT NULL DEFAULT 0,
  skipped bigint NOT NULL DEFAULT 0,
  -- Not worked on before.
  next_chunk_at timestamptz NOT NULL DEFAULT now(),
  created_by text NOT NULL,
  created_at timestamptz(3) NOT NULL,
  finished_at timestamptz(3)
);
CREATE INDEX webhook_replays_by_webhook ON webhook_replays (webhook_id, created_at DESC, id DESC);
CREATE INDEX webhook_replays_open ON webhook_replays (webhook_id, created_at, id) WHERE state IN ('queued', 'running');

ALTER TABLE webhook_replays ENABLE ROW LEVEL SECURITY;
CALL policy('webhook_replays_reached', 'webhook_replays', 'all', 'organization');
