-- Rows that are stored already, apart from the change of the tables: reading all of them takes minutes where there are
-- many, and the lock of ALTER TABLE would keep agents and readers waiting for as long.
UPDATE agent_log SET claimed_timestamp = "timestamp", "timestamp" = created_at
WHERE "timestamp" > created_at + interval '24 hours';
UPDATE event_log SET claimed_timestamp = "timestamp", "timestamp" = created_at
WHERE "timestamp" > created_at + interval '24 hours';
