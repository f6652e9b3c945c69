-- `action` filters: the actions of a chain are few, so "contains" becomes equality over those that match, newest first.
CREATE INDEX audit_log_by_action ON audit_log (chain_id, action, timestamp DESC, id DESC);
