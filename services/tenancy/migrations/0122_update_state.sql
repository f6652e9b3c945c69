-- How a device stands to the versions it should run, by the decision in the answer to its last heartbeat. Derived: it is no
-- change of the device.
ALTER TABLE devices
  ADD COLUMN update_state text CHECK (update_state IN ('current', 'behind', 'ahead', 'failed'));
