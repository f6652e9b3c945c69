-- A site goes at once and its devices leave it in slices: as an action of the foreign key, the deletion of a site of
-- 200,000 devices was one statement of half a minute. Each write of a device's site holds the site meanwhile.
ALTER TABLE devices DROP CONSTRAINT devices_site_id_org_id_fkey;
DROP TRIGGER devices_site_deleted ON devices;
DROP FUNCTION devices_site_deleted();

-- Deleted sites that devices still refer to; no reader is shown that they do.
CREATE TABLE site_removals (
  id uuid PRIMARY KEY,
  org_id uuid NOT NULL,
  partner_id uuid NOT NULL,
  deleted_at timestamptz NOT NULL DEFAULT now()
);
ALTER TABLE site_removals ENABLE ROW LEVEL SECURITY;
CALL policy('site_removals_reached', 'site_removals', 'all', 'organization');

-- A trigger, so that sites which the previous release deletes are in it, too.
CREATE FUNCTION sites_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO site_removals (id, org_id, partner_id) VALUES (OLD.id, OLD.org_id, OLD.partner_id);
  RETURN NULL;
END
$$;
CREATE TRIGGER sites_deleted AFTER DELETE ON sites FOR EACH ROW EXECUTE FUNCTION sites_deleted();
