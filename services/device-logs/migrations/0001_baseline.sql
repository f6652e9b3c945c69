-- Devices as tenancy says: whose they are and where. Filled by events, and asked for when one is not there yet
-- (docs/decisions/0023-device-copy.md). Decommissioned ones stay: their logs are still read.
CREATE TABLE device (
  id uuid PRIMARY KEY,
  org_id uuid NOT NULL,
  partner_id uuid NOT NULL,
  site_id uuid,
  status text NOT NULL,
  version bigint NOT NULL,
  -- When tenancy last said so.
  heard_at timestamptz NOT NULL
);
CREATE INDEX device_of_site ON device (site_id) WHERE site_id IS NOT NULL;

ALTER TABLE device ENABLE ROW LEVEL SECURITY;
CALL policy('device_read', 'device', 'select', 'site');
CALL policy('device_write', 'device', 'all', 'system');

-- Diagnostic logs of agents, by week of their arrival (a device clock in 2099 makes no partition), and event logs of devices,
-- by device (the unique key must hold the partition key). No primary keys: ids are UUIDv7 made here, and each index
-- costs every row that is written.
CREATE TABLE agent_log (
  id uuid NOT NULL,
  device_id uuid NOT NULL,
  org_id uuid NOT NULL,
  partner_id uuid NOT NULL,
  "timestamp" timestamptz(3) NOT NULL,
  level text NOT NULL CHECK (level IN ('debug', 'info', 'warn', 'error')),
  component varchar(100) NOT NULL,
  message text NOT NULL,
  fields jsonb,
  agent_version varchar(50),
  created_at timestamptz(3) NOT NULL DEFAULT now()
) PARTITION BY RANGE (created_at);
CREATE INDEX agent_log_of_device ON agent_log (device_id, "timestamp" DESC, id DESC);
CREATE INDEX agent_log_age ON agent_log USING brin (created_at);
CREATE TABLE agent_log_default PARTITION OF agent_log DEFAULT;

CREATE TABLE event_log (
  id uuid NOT NULL,
  device_id uuid NOT NULL,
  org_id uuid NOT NULL,
  partner_id uuid NOT NULL,
  "timestamp" timestamptz(3) NOT NULL,
  level text NOT NULL CHECK (level IN ('info', 'warning', 'error', 'critical')),
  category text NOT NULL CHECK (category IN ('security', 'hardware', 'application', 'system')),
  source varchar(255) NOT NULL,
  -- Null never equals null: events without an id are never taken for repeats.
  event_id varchar(100),
  message text NOT NULL,
  details jsonb,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  CONSTRAINT event_log_once UNIQUE (device_id, source, event_id)
) PARTITION BY HASH (device_id);
CREATE INDEX event_log_of_device ON event_log (device_id, "timestamp" DESC, id DESC);
CREATE INDEX event_log_age ON event_log USING brin (created_at);

-- One policy for both tables and each of their partitions: partitions that are made later get it by this function, too.
CREATE FUNCTION secure_log_table(log_table regclass) RETURNS void
LANGUAGE plpgsql SET search_path = device_logs, pg_temp AS $$
BEGIN
  EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', log_table);
  -- Where a device is now decides who sees its logs: they move with it.
  EXECUTE format('CREATE POLICY reached ON %s USING ((%s) AND (%s))', log_table, policy_condition('organization'),
    $q$(SELECT coalesce(current_setting('app.site_ids', true), '')) = ''
       OR EXISTS (SELECT FROM device_logs.device d WHERE d.id = device_id)$q$);
END
$$;
REVOKE ALL ON FUNCTION secure_log_table(regclass) FROM PUBLIC;

DO $$
BEGIN
  FOR part IN 0..15 LOOP
    EXECUTE format('CREATE TABLE event_log_%s PARTITION OF event_log FOR VALUES WITH (MODULUS 16, REMAINDER %s)', part, part);
    PERFORM secure_log_table(format('event_log_%s', part)::regclass);
    -- What is inserted must be vacuumed for the visibility map, not for dead rows: there are hardly any.
    EXECUTE format('ALTER TABLE event_log_%s SET (autovacuum_vacuum_insert_scale_factor = 0.1)', part);
  END LOOP;
  PERFORM secure_log_table('agent_log');
  PERFORM secure_log_table('agent_log_default');
  PERFORM secure_log_table('event_log');
END
$$;

-- The application owns no table: it may make weeks and drop old ones by these two functions of the owner, and nothing else
-- (docs/decisions/0024-log-partitions.md). Both are safe to run at any time, by any number of processes.
CREATE FUNCTION make_agent_log_weeks(weeks_ahead integer, around timestamptz DEFAULT now()) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = device_logs, pg_temp SET lock_timeout = '3s' SET timezone = 'UTC' AS $$
DECLARE
  made integer := 0;
  week date;
  name text;
BEGIN
  IF weeks_ahead NOT BETWEEN 0 AND 60 THEN
    RAISE EXCEPTION 'weeks_ahead is %, not between 0 and 60', weeks_ahead;
  END IF;
  PERFORM pg_advisory_xact_lock(hashtextextended('device_logs.agent_log weeks', 0));
  FOR week IN SELECT generate_series(date_trunc('week', around), date_trunc('week', around) + weeks_ahead * interval '7 days', '7 days')::date
  LOOP
    name := 'agent_log_' || to_char(week, 'YYYYMMDD');
    CONTINUE WHEN to_regclass('device_logs.' || name) IS NOT NULL;
    EXECUTE format('CREATE TABLE %I (LIKE agent_log INCLUDING DEFAULTS INCLUDING CONSTRAINTS)', name);
    -- Rows that came while this week had no partition.
    EXECUTE format('WITH moved AS (DELETE FROM agent_log_default WHERE created_at >= %L AND created_at < %L RETURNING *)
                    INSERT INTO %I SELECT * FROM moved', week, week + 7, name);
    PERFORM secure_log_table(name::regclass);
    EXECUTE format('ALTER TABLE agent_log ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', name, week, week + 7);
    made := made + 1;
  END LOOP;
  RETURN made;
END
$$;

-- Drops the weeks that ended before `before`, one a call; says its name, null when there is none left.
CREATE FUNCTION drop_agent_log_week(before timestamptz) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = device_logs, pg_temp SET lock_timeout = '3s' SET timezone = 'UTC' AS $$
DECLARE
  found text;
BEGIN
  IF before > now() - interval '1 day' THEN
    RAISE EXCEPTION 'weeks younger than a day are not dropped';
  END IF;
  PERFORM pg_advisory_xact_lock(hashtextextended('device_logs.agent_log weeks', 0));
  SELECT c.relname INTO found
  FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
  WHERE i.inhparent = 'device_logs.agent_log'::regclass AND c.relname ~ '^agent_log_\d{8}$'
    AND to_date(right(c.relname, 8), 'YYYYMMDD') + 7 <= before
  ORDER BY c.relname LIMIT 1;
  IF found IS NOT NULL THEN
    EXECUTE format('DROP TABLE %I', found);
  END IF;
  RETURN found;
END
$$;

REVOKE ALL ON FUNCTION make_agent_log_weeks(integer, timestamptz), drop_agent_log_week(timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION make_agent_log_weeks(integer, timestamptz), drop_agent_log_week(timestamptz)
  TO muster_device_logs_app;

-- Nobody waits for the first run of the job.
SELECT make_agent_log_weeks(8);
