-- History of the metrics that heartbeats report: a row for each device and hour that a process has received, packed
-- (src/rules/metric-hours.ts). Hours since 1970. Without a unique key: an index of devices alone costs each row a quarter of
-- one with the hour, and several processes may each have a part of an hour.
CREATE TABLE device_metrics (
  device_id uuid NOT NULL,
  hour integer NOT NULL,
  packed bytea NOT NULL
) PARTITION BY RANGE (hour);
CREATE INDEX device_metrics_of_device ON device_metrics (device_id);
CREATE TABLE device_metrics_default PARTITION OF device_metrics DEFAULT;

-- Rows say nothing of tenants: the service reads those of devices that the caller has found, in its own name.
CREATE FUNCTION secure_metrics_table(metrics_table regclass) RETURNS void
LANGUAGE plpgsql SET search_path = tenancy, pg_temp AS $$
BEGIN
  EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', metrics_table);
  EXECUTE format('CREATE POLICY system ON %s USING (%s)', metrics_table, policy_condition('system'));
END
$$;
REVOKE ALL ON FUNCTION secure_metrics_table(regclass) FROM PUBLIC;
SELECT secure_metrics_table('device_metrics'), secure_metrics_table('device_metrics_default');

-- As the weeks of logs: the application owns no table (docs/decisions/0024-weekly-partitions-are-made-by-functions-of-the-owner.md).
-- A week begins with an hour that is a multiple of 168.
CREATE FUNCTION make_metric_weeks(weeks_ahead integer, around timestamptz DEFAULT now()) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = tenancy, pg_temp SET lock_timeout = '3s' AS $$
DECLARE
  made integer := 0;
  this_week integer := floor(extract(epoch FROM around) / 604800);
  week integer;
  name text;
BEGIN
  IF weeks_ahead NOT BETWEEN 0 AND 60 THEN
    RAISE EXCEPTION 'weeks_ahead is %, not between 0 and 60', weeks_ahead;
  END IF;
  PERFORM pg_advisory_xact_lock(hashtextextended('tenancy.device_metrics weeks', 0));
  FOR week IN SELECT generate_series(this_week, this_week + weeks_ahead) LOOP
    name := 'device_metrics_' || week;
    CONTINUE WHEN to_regclass('tenancy.' || name) IS NOT NULL;
    EXECUTE format('CREATE TABLE %I (LIKE device_metrics INCLUDING DEFAULTS INCLUDING CONSTRAINTS)', name);
    EXECUTE format('WITH moved AS (DELETE FROM device_metrics_default WHERE hour >= %s AND hour < %s RETURNING *)
                    INSERT INTO %I SELECT * FROM moved', week * 168, (week + 1) * 168, name);
    PERFORM secure_metrics_table(name::regclass);
    EXECUTE format('ALTER TABLE device_metrics ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%s)',
                   name, week * 168, (week + 1) * 168);
    made := made + 1;
  END LOOP;
  RETURN made;
END
$$;

-- Drops the weeks that ended before `before`, one a call; says its name, null when there is none left.
CREATE FUNCTION drop_metric_week(before timestamptz) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = tenancy, pg_temp SET lock_timeout = '3s' AS $$
DECLARE
  found text;
BEGIN
  IF before > now() - interval '1 day' THEN
    RAISE EXCEPTION 'weeks younger than a day are not dropped';
  END IF;
  PERFORM pg_advisory_xact_lock(hashtextextended('tenancy.device_metrics weeks', 0));
  SELECT c.relname INTO found
  FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
  WHERE i.inhparent = 'tenancy.device_metrics'::regclass AND c.relname ~ '^device_metrics_\d+$'
    AND to_timestamp((substring(c.relname FROM '\d+$')::bigint + 1) * 604800) <= before
  ORDER BY substring(c.relname FROM '\d+$')::bigint LIMIT 1;
  IF found IS NOT NULL THEN
    EXECUTE format('DROP TABLE %I', found);
  END IF;
  RETURN found;
END
$$;

REVOKE ALL ON FUNCTION make_metric_weeks(integer, timestamptz), drop_metric_week(timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION make_metric_weeks(integer, timestamptz), drop_metric_week(timestamptz) TO muster_tenancy_app;

SELECT make_metric_weeks(2);
