-- Position of the ring by which a rollout included the device; null without rings, and for attempts of before.
ALTER TABLE update_attempt ADD COLUMN wave smallint;
