-- A delivery that its first attempt delivered holds what is known of that attempt, in place of a row of webhook_attempts
-- (status, body and duration stand in the delivery anyway). Null in every other delivery.
ALTER TABLE webhook_deliveries
  ADD COLUMN sole_started_at timestamptz(3),
  ADD COLUMN sole_connected_ms integer,
  ADD COLUMN sole_headers_ms integer,
  ADD COLUMN sole_remote_address text,
  ADD COLUMN sole_reused boolean,
  -- Signatures and the names of masked headers; the other headers follow from the columns of the delivery.
  ADD COLUMN sole_headers text;

-- The outcome nearly doubles a delivery then: both versions fit into a page of which a third is filled.
CREATE OR REPLACE FUNCTION ensure_webhook_days(first_day date, last_day date) RETURNS integer
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
        CASE parent WHEN 'webhook_deliveries' THEN 33 ELSE 100 END);
      -- Reached through the parent, whose policies count; by its own name only the system sees it.
      EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', part);
      CALL policy(part || '_system', part::regclass, 'all', 'system');
      made := made + 1;
    END LOOP;
  END LOOP;
  RETURN made;
END $$;

-- Days that are there; pages that are filled already stay as they are.
DO $days$
DECLARE
  part regclass;
BEGIN
  FOR part IN SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent = 'webhook_deliveries'::regclass LOOP
    EXECUTE format('ALTER TABLE %s SET (fillfactor = 33)', part);
  END LOOP;
END
$days$;
