-- Requests of the last hour by slots of 2 s of the database's clock (src/rules/rate-window.ts): slot, count, slot, count, …
CREATE TABLE rate_hours (
  kind text NOT NULL CHECK (kind IN ('key', 'session', 'agent')),
  id uuid NOT NULL,
  -- Slots that leave the hour next.
  leaving integer[] NOT NULL DEFAULT '{}',
  -- Slots after those and before the recent ones: read and written once a minute, their sum and the oldest of them stand beside them.
  between_slots integer[] NOT NULL DEFAULT '{}',
  between_used bigint NOT NULL DEFAULT 0,
  between_from integer,
  -- Slots that are charged now.
  recent integer[] NOT NULL DEFAULT '{}',
  -- Until when grants may still come back, so that a refusal before that is not final.
  lent_until timestamptz NOT NULL DEFAULT '-infinity',
  -- Minute of the last change: idle rows are removed. Not the slot, since each change of an indexed column costs an index entry.
  last_minute bigint NOT NULL DEFAULT floor(extract(epoch FROM now()) / 60)::bigint,
  PRIMARY KEY (kind, id)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02); -- each row is updated many times a second
-- Out of line and uncompressed: what is not changed is neither read nor written with the row.
ALTER TABLE rate_hours ALTER COLUMN between_slots SET STORAGE EXTERNAL;
CREATE INDEX rate_hours_idle ON rate_hours (last_minute);

ALTER TABLE rate_hours ENABLE ROW LEVEL SECURITY;
CREATE POLICY rate_hours_system ON rate_hours
  USING ((SELECT current_setting('app.scope', true)) = 'system');

-- What was counted by minute until now, each minute at its end. rate_windows stays until no process of the version before counts in it.
INSERT INTO rate_hours (kind, id, between_slots, between_used, between_from)
SELECT kind, id, array_agg(n ORDER BY slot, is_count), sum(n) FILTER (WHERE is_count), min(slot)
FROM (
  SELECT w.kind, w.id, (m * 30 + 29)::integer AS slot, w.used[(m % 62)::integer + 1] AS count
  FROM rate_windows w, generate_series(w.base_minute - 61, w.base_minute) AS m
  WHERE w.base_minute > 61
) AS minutes, LATERAL (VALUES (false, slot), (true, count)) AS pair (is_count, n)
WHERE count > 0
GROUP BY kind, id;
