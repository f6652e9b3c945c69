-- An organization's events are listed by their time; the lookup of a payload names all three columns anyway.
ALTER TABLE webhook_events DROP CONSTRAINT webhook_events_pkey;
ALTER TABLE webhook_events ADD PRIMARY KEY (org_id, occurred_at, id);
-- False for tests, and for payloads that a retry or replay copied to its own day: no events of their own.
ALTER TABLE webhook_events ADD COLUMN listed boolean NOT NULL DEFAULT true;
UPDATE webhook_events e SET listed = false
WHERE NOT EXISTS (SELECT FROM webhook_event_keys k
                  WHERE k.org_id = e.org_id AND k.event_id = e.id AND k.occurred_at = e.occurred_at);
-- Deliveries of an event by its id: that of the event itself follows from the webhook, and needs no index.
CREATE INDEX webhook_deliveries_repeats ON webhook_deliveries (event_id) WHERE origin <> 'event';
