-- A device clock may be wrong by any measure. A time more than a day ahead of its arrival would keep its row in front of
-- all others for years: "timestamp", by which lists sort and filter, is then the arrival, and the device's own time stays
-- here. Null: the device's time is "timestamp".
ALTER TABLE agent_log ADD COLUMN claimed_timestamp timestamptz(3);
ALTER TABLE event_log ADD COLUMN claimed_timestamp timestamptz(3);
