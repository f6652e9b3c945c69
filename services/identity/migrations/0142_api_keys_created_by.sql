-- muster:no-transaction
-- The keys that a user has created, which an audit row lists when a directory deactivates the user.
CREATE INDEX CONCURRENTLY IF NOT EXISTS api_keys_created_by ON api_keys (created_by);
