-- Who posted an event: `platform` for a service of the cluster, else the type and id of the caller, such as `user:<id>`.
-- Null where an earlier version stored it.
ALTER TABLE webhook_events ADD COLUMN posted_by text;
ALTER TABLE webhook_backlog ADD COLUMN posted_by text;
