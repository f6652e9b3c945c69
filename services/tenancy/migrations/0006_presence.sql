-- Presence of devices, and what enrollment and heartbeats tell of them.
ALTER TABLE devices
  ADD COLUMN labels jsonb NOT NULL DEFAULT '{}',
  ADD COLUMN quarantine_reason text,
  -- Approved although another living device has the hardware id: it is not the one that the id belongs to.
  ADD COLUMN hardware_shared boolean NOT NULL DEFAULT false,
  -- What the agent last said of itself.
  ADD COLUMN reported jsonb,
  -- When to look whether it is still there. Not moved by heartbeats, so that they touch no index: whoever looks then and finds
  -- a newer heartbeat moves it on.
  ADD COLUMN offline_check_at timestamptz;
-- Room for heartbeats beside the row they replace (HOT).
ALTER TABLE devices SET (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);

CREATE INDEX devices_offline_check ON devices (offline_check_at) WHERE status = 'online';

-- The hardware id's own device, as before but for shared ones.
CREATE UNIQUE INDEX devices_hardware_owner ON devices (org_id, hardware_id)
  WHERE hardware_id IS NOT NULL AND NOT hardware_shared AND status NOT IN ('decommissioned', 'quarantined');
DROP INDEX devices_hardware;

-- Ids of enrollments that were given up before their device was made: it is refused when it comes late.
CREATE TABLE discarded_devices (
  id uuid PRIMARY KEY,
  discarded_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX discarded_devices_age ON discarded_devices (discarded_at);
ALTER TABLE discarded_devices ENABLE ROW LEVEL SECURITY;
CREATE POLICY discarded_devices_system ON discarded_devices
  USING ((SELECT current_setting('app.scope', true)) = 'system')
  WITH CHECK ((SELECT current_setting('app.scope', true)) = 'system');

-- One row: whoever holds it looks for devices that are gone. A pause in looking was a pause in hearing, too: devices get time
-- to come by before anybody is called offline.
CREATE TABLE presence_watch (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  looked_at timestamptz NOT NULL,
  patient_until timestamptz NOT NULL
);
ALTER TABLE presence_watch ENABLE ROW LEVEL SECURITY;
CREATE POLICY presence_watch_system ON presence_watch
  USING ((SELECT current_setting('app.scope', true)) = 'system')
  WITH CHECK ((SELECT current_setting('app.scope', true)) = 'system');
INSERT INTO presence_watch (looked_at, patient_until) VALUES ('-infinity', '-infinity');
