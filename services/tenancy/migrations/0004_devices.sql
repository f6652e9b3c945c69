-- Managed devices, their groups and how many of them live. A device keeps its organization for life; its site may change
-- within it and goes when the site is deleted.
ALTER TABLE sites ADD CONSTRAINT sites_id_org UNIQUE (id, org_id);

CREATE TABLE devices (
  id uuid PRIMARY KEY,
  org_id uuid NOT NULL,
  partner_id uuid NOT NULL,
  site_id uuid,
  hostname varchar(255) NOT NULL CHECK (hostname <> ''),
  os text NOT NULL CHECK (os IN ('windows', 'linux', 'darwin')),
  arch text NOT NULL CHECK (arch IN ('amd64', 'arm64', '386')),
  agent_version varchar(50) NOT NULL,
  watchdog_version varchar(50),
  status text NOT NULL CHECK (status IN ('online', 'offline', 'updating', 'decommissioned', 'quarantined')),
  hardware_id varchar(255),
  serial_number varchar(255),
  last_seen_at timestamptz(3),
  last_ip_address inet,
  auto_update_enabled boolean NOT NULL DEFAULT true,
  version bigint NOT NULL DEFAULT 1,
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL,
  decommissioned_at timestamptz(3) CHECK ((decommissioned_at IS NOT NULL) = (status = 'decommissioned')),
  FOREIGN KEY (org_id, partner_id) REFERENCES organizations (id, partner_id),
  -- The site is one of the device's own organization.
  FOREIGN KEY (site_id, org_id) REFERENCES sites (id, org_id) ON DELETE SET NULL (site_id)
);

-- Each with all that policies and searches read: pages are found, skipped and counted without touching the rows. Nothing
-- that a heartbeat writes is indexed.
CREATE INDEX devices_by_org ON devices (org_id, created_at DESC, id DESC) INCLUDE (partner_id, site_id, hostname);
CREATE INDEX devices_by_partner ON devices (partner_id, created_at DESC, id DESC) INCLUDE (org_id, site_id, hostname);
CREATE INDEX devices_newest ON devices (created_at DESC, id DESC) INCLUDE (partner_id, org_id, site_id, hostname);
CREATE INDEX devices_by_site ON devices (site_id, created_at DESC, id DESC) INCLUDE (partner_id, org_id, hostname);
CREATE INDEX devices_by_status ON devices (org_id, status, created_at DESC, id DESC) INCLUDE (partner_id, site_id, hostname);
-- One trusted device per hardware id: whoever comes with the same one is quarantined.
CREATE UNIQUE INDEX devices_hardware ON devices (org_id, hardware_id)
  WHERE hardware_id IS NOT NULL AND status NOT IN ('decommissioned', 'quarantined');

-- The foreign key sets a deleted site's devices to no site by itself; this makes it a change like every other.
CREATE FUNCTION devices_site_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.version := OLD.version + 1;
  NEW.updated_at := now();
  RETURN NEW;
END
$$;
CREATE TRIGGER devices_site_deleted BEFORE UPDATE OF site_id ON devices FOR EACH ROW
  WHEN (NEW.site_id IS NULL AND OLD.site_id IS NOT NULL AND NEW.version = OLD.version)
  EXECUTE FUNCTION devices_site_deleted();

ALTER TABLE devices ENABLE ROW LEVEL SECURITY;
CREATE POLICY devices_reached ON devices
  USING (
    (
      (SELECT current_setting('app.scope', true)) = 'system'
      OR (
        (SELECT current_setting('app.scope', true)) = 'partner'
        AND partner_id = (SELECT nullif(current_setting('app.partner_id', true), '')::uuid)
        AND (
          (SELECT current_setting('app.org_access', true)) = 'all'
          OR org_id = ANY ((SELECT nullif(current_setting('app.org_ids', true), '')::uuid[])::uuid[])
        )
      )
      OR (
        (SELECT current_setting('app.scope', true)) = 'organization'
        AND org_id = (SELECT nullif(current_setting('app.org_id', true), '')::uuid)
      )
    )
    AND (
      (SELECT coalesce(current_setting('app.site_ids', true), '')) = ''
      OR site_id = ANY ((SELECT nullif(current_setting('app.site_ids', true), '')::uuid[])::uuid[])
    )
  )
  WITH CHECK (
    (
      (SELECT current_setting('app.scope', true)) = 'system'
      OR (
        (SELECT current_setting('app.scope', true)) = 'partner'
        AND partner_id = (SELECT nullif(current_setting('app.partner_id', true), '')::uuid)
        AND (
          (SELECT current_setting('app.org_access', true)) = 'all'
          OR org_id = ANY ((SELECT nullif(current_setting('app.org_ids', true), '')::uuid[])::uuid[])
        )
      )
      OR (
        (SELECT current_setting('app.scope', true)) = 'organization'
        AND org_id = (SELECT nullif(current_setting('app.org_id', true), '')::uuid)
      )
    )
    AND (
      (SELECT coalesce(current_setting('app.site_ids', true), '')) = ''
      OR site_id = ANY ((SELECT nullif(current_setting('app.site_ids', true), '')::uuid[])::uuid[])
    )
  );

CREATE TABLE device_groups (
  id uuid PRIMARY KEY,
  org_id uuid NOT NULL,
  partner_id uuid NOT NULL,
  site_id uuid,
  name varchar(255) NOT NULL CHECK (name <> ''),
  version bigint NOT NULL DEFAULT 1,
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL,
  -- What a membership refers to, so that its organization is always its group's.
  UNIQUE (id, org_id),
  FOREIGN KEY (org_id, partner_id) REFERENCES organizations (id, partner_id),
  FOREIGN KEY (site_id, org_id) REFERENCES sites (id, org_id) ON DELETE CASCADE
);

CREATE INDEX device_groups_by_org ON device_groups (org_id, created_at DESC, id DESC) INCLUDE (partner_id, site_id);
CREATE INDEX device_groups_by_partner ON device_groups (partner_id, created_at DESC, id DESC) INCLUDE (org_id, site_id);
CREATE INDEX device_groups_newest ON device_groups (created_at DESC, id DESC) INCLUDE (partner_id, org_id, site_id);
CREATE INDEX device_groups_by_site ON device_groups (site_id, created_at DESC, id DESC) INCLUDE (partner_id, org_id);

ALTER TABLE device_groups ENABLE ROW LEVEL SECURITY;
CREATE POLICY device_groups_reached ON device_groups
  USING (
    (
      (SELECT current_setting('app.scope', true)) = 'system'
      OR (
        (SELECT current_setting('app.scope', true)) = 'partner'
        AND partner_id = (SELECT nullif(current_setting('app.partner_id', true), '')::uuid)
        AND (
          (SELECT current_setting('app.org_access', true)) = 'all'
          OR org_id = ANY ((SELECT nullif(current_setting('app.org_ids', true), '')::uuid[])::uuid[])
        )
      )
      OR (
        (SELECT current_setting('app.scope', true)) = 'organization'
        AND org_id = (SELECT nullif(current_setting('app.org_id', true), '')::uuid)
      )
    )
    AND (
      (SELECT coalesce(current_setting('app.site_ids', true), '')) = ''
      OR site_id = ANY ((SELECT nullif(current_setting('app.site_ids', true), '')::uuid[])::uuid[])
    )
  )
  WITH CHECK (
    (
      (SELECT current_setting('app.scope', true)) = 'system'
      OR (
        (SELECT current_setting('app.scope', true)) = 'partner'
        AND partner_id = (SELECT nullif(current_setting('app.partner_id', true), '')::uuid)
        AND (
          (SELECT current_setting('app.org_access', true)) = 'all'
          OR org_id = ANY ((SELECT nullif(current_setting('app.org_ids', true), '')::uuid[])::uuid[])
        )
      )
      OR (
        (SELECT current_setting('app.scope', true)) = 'organization'
        AND org_id = (SELECT nullif(current_setting('app.org_id', true), '')::uuid)
      )
    )
    AND (
      (SELECT coalesce(current_setting('app.site_ids', true), '')) = ''
      OR site_id = ANY ((SELECT nullif(current_setting('app.site_ids', true), '')::uuid[])::uuid[])
    )
  );

-- Not narrowed by site: a device's event names all of its groups, whoever changed it. Queries for people go through the
-- policies of the two tables it joins.
CREATE TABLE device_group_members (
  group_id uuid NOT NULL,
  device_id uuid NOT NULL REFERENCES devices (id) ON DELETE CASCADE,
  org_id uuid NOT NULL,
  partner_id uuid NOT NULL,
  added_at timestamptz(3) NOT NULL,
  PRIMARY KEY (group_id, device_id),
  FOREIGN KEY (group_id, org_id) REFERENCES device_groups (id, org_id) ON DELETE CASCADE
);

CREATE INDEX device_group_members_by_device ON device_group_members (device_id, group_id) INCLUDE (org_id, partner_id);

ALTER TABLE device_group_members ENABLE ROW LEVEL SECURITY;
CREATE POLICY device_group_members_reached ON device_group_members USING (
  (SELECT current_setting('app.scope', true)) = 'system'
  OR (
    (SELECT current_setting('app.scope', true)) = 'partner'
    AND partner_id = (SELECT nullif(current_setting('app.partner_id', true), '')::uuid)
    AND (
      (SELECT current_setting('app.org_access', true)) = 'all'
      OR org_id = ANY ((SELECT nullif(current_setting('app.org_ids', true), '')::uuid[])::uuid[])
    )
  )
  OR (
    (SELECT current_setting('app.scope', true)) = 'organization'
    AND org_id = (SELECT nullif(current_setting('app.org_id', true), '')::uuid)
  )
) WITH CHECK (
  (SELECT current_setting('app.scope', true)) = 'system'
  OR (
    (SELECT current_setting('app.scope', true)) = 'partner'
    AND partner_id = (SELECT nullif(current_setting('app.partner_id', true), '')::uuid)
    AND (
      (SELECT current_setting('app.org_access', true)) = 'all'
      OR org_id = ANY ((SELECT nullif(current_setting('app.org_ids', true), '')::uuid[])::uuid[])
    )
  )
  OR (
    (SELECT current_setting('app.scope', true)) = 'organization'
    AND org_id = (SELECT nullif(current_setting('app.org_id', true), '')::uuid)
  )
);

-- Devices of each organization that are not decommissioned: what caps are judged by without counting a million rows.
-- Written in the transaction that enrolls or decommissions.
CREATE TABLE device_counts (
  org_id uuid PRIMARY KEY,
  partner_id uuid NOT NULL,
  living integer NOT NULL CHECK (living >= 0),
  FOREIGN KEY (org_id, partner_id) REFERENCES organizations (id, partner_id)
);

CREATE INDEX device_counts_by_partner ON device_counts (partner_id) INCLUDE (org_id, living);

ALTER TABLE device_counts ENABLE ROW LEVEL SECURITY;
CREATE POLICY device_counts_insert ON device_counts FOR INSERT
  WITH CHECK ((SELECT current_setting('app.scope', true)) = 'system');
CREATE POLICY device_counts_read ON device_counts FOR SELECT USING (
  (SELECT current_setting('app.scope', true)) = 'system'
  OR (
    (SELECT current_setting('app.scope', true)) = 'partner'
    AND partner_id = (SELECT nullif(current_setting('app.partner_id', true), '')::uuid)
    AND (
      (SELECT current_setting('app.org_access', true)) = 'all'
      OR org_id = ANY ((SELECT nullif(current_setting('app.org_ids', true), '')::uuid[])::uuid[])
    )
  )
  OR (
    (SELECT current_setting('app.scope', true)) = 'organization'
    AND org_id = (SELECT nullif(current_setting('app.org_id', true), '')::uuid)
  )
);
CREATE POLICY device_counts_update ON device_counts FOR UPDATE
  USING (
    (SELECT current_setting('app.scope', true)) = 'system'
    OR (
      (SELECT current_setting('app.scope', true)) = 'partner'
      AND partner_id = (SELECT nullif(current_setting('app.partner_id', true), '')::uuid)
      AND (
        (SELECT current_setting('app.org_access', true)) = 'all'
        OR org_id = ANY ((SELECT nullif(current_setting('app.org_ids', true), '')::uuid[])::uuid[])
      )
    )
    OR (
      (SELECT current_setting('app.scope', true)) = 'organization'
      AND org_id = (SELECT nullif(current_setting('app.org_id', true), '')::uuid)
    )
  )
  WITH CHECK (
    (SELECT current_setting('app.scope', true)) = 'system'
    OR (
      (SELECT current_setting('app.scope', true)) = 'partner'
      AND partner_id = (SELECT nullif(current_setting('app.partner_id', true), '')::uuid)
      AND (
        (SELECT current_setting('app.org_access', true)) = 'all'
        OR org_id = ANY ((SELECT nullif(current_setting('app.org_ids', true), '')::uuid[])::uuid[])
      )
    )
    OR (
      (SELECT current_setting('app.scope', true)) = 'organization'
      AND org_id = (SELECT nullif(current_setting('app.org_id', true), '')::uuid)
    )
  );
