-- The host name that the agent last reported, apart from the shown one: people may rename a device, and their name stays
-- until the machine itself is renamed. What events and audit rows last said of each reported fact, with the time.
ALTER TABLE devices
  ADD COLUMN agent_hostname varchar(255),
  ADD COLUMN announced_facts jsonb;
