-- Place in the stream of events that an ordered webhook gets: they are taken up by it, and not before everything up to it is stored. 0: any time.
ALTER TABLE webhook_backlog
  ADD COLUMN seq bigint NOT NULL DEFAULT 0,
  ADD COLUMN put_at timestamptz NOT NULL DEFAULT now();
ALTER TABLE webhook_backlog DROP CONSTRAINT webhook_backlog_pkey, ADD PRIMARY KEY (org_id, seq, id);
