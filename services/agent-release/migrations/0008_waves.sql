-- Percent of the devices of the open rings that must have succeeded before the next ring opens by itself; null: rings
-- are opened by users alone. Each ring of `rings` has the number of its devices that no ring before it includes.
ALTER TABLE rollout ADD COLUMN wave_success_percent double precision
  CHECK (wave_success_percent > 0 AND wave_success_percent <= 100);
