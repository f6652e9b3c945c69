-- Webhooks and dead letters are also listed over all organizations that a caller reaches.
CREATE INDEX webhooks_newest ON webhooks (created_at DESC, id DESC) WHERE deleted_at IS NULL;
CREATE INDEX webhooks_newest_by_partner ON webhooks (partner_id, created_at DESC, id DESC) WHERE deleted_at IS NULL;
CREATE INDEX webhook_dead_letters_newest ON webhook_dead_letters (created_at DESC, id DESC);
CREATE INDEX webhook_dead_letters_by_partner ON webhook_dead_letters (partner_id, created_at DESC, id DESC);
