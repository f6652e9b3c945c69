-- When the other services were told to delete what they hold of a tenant that was deleted long ago.
ALTER TABLE organizations ADD COLUMN purged_at timestamptz(3) CHECK (deleted_at IS NOT NULL OR purged_at IS NULL);
ALTER TABLE partners ADD COLUMN purged_at timestamptz(3) CHECK (deleted_at IS NOT NULL OR purged_at IS NULL);
CREATE INDEX organizations_to_purge ON organizations (deleted_at) WHERE deleted_at IS NOT NULL AND purged_at IS NULL;
CREATE INDEX partners_to_purge ON partners (deleted_at) WHERE deleted_at IS NOT NULL AND purged_at IS NULL;
