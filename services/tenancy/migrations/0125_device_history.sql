-- How many devices were in which state: a row for each owner and hour. The owner is an organization, a partner for all of its
-- own, or the zero id for all of the platform. Hours since 1970.
CREATE TABLE device_history (
  owner_id uuid NOT NULL,
  hour integer NOT NULL,
  -- Online, offline, updating and quarantined devices, of each five minutes of the hour in turn; null where none was counted.
  counts integer[] NOT NULL,
  PRIMARY KEY (owner_id, hour)
) WITH (fillfactor = 70);
CREATE INDEX device_history_age ON device_history (hour);

-- The service reads the rows of owners that are in the caller's scope, in its own name.
ALTER TABLE device_history ENABLE ROW LEVEL SECURITY;
CALL policy('device_history_system', 'device_history', 'all', 'system');
