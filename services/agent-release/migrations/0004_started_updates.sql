-- When the agent reported that it had begun: until then the gate may take the offer back.
ALTER TABLE update_attempt ADD COLUMN started_at timestamptz;
-- Offers that were taken back: a device that installs the version all the same is found by them for a day.
CREATE INDEX update_attempt_cancelled ON update_attempt (device_id, ended_at) WHERE state = 'cancelled';
