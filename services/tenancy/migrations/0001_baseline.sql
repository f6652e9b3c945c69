-- Top-level tenants. A partner's own row is visible to its people.
CREATE TABLE partners (
  id uuid PRIMARY KEY,
  name varchar(255) NOT NULL CHECK (name <> ''),
  slug varchar(100) NOT NULL CHECK (slug ~ '^[A-Za-z0-9][A-Za-z0-9._~-]*$'),
  type text NOT NULL CHECK (type IN ('msp', 'enterprise', 'internal')),
  plan text NOT NULL CHECK (plan IN ('free', 'starter', 'community', 'pro', 'enterprise', 'unlimited')),
  status text NOT NULL CHECK (status IN ('pending', 'active', 'suspended', 'churned')),
  max_organizations integer CHECK (max_organizations >= 0),
  max_devices integer CHECK (max_devices >= 0),
  settings jsonb NOT NULL DEFAULT '{}',
  sso_config jsonb NOT NULL DEFAULT '{}',
  billing_email varchar(255),
  version bigint NOT NULL DEFAULT 1,
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL,
  deleted_at timestamptz(3),
  -- Preferred display order, set by the order endpoint alone and shown among the settings.
  organization_order uuid[] NOT NULL DEFAULT '{}',
  -- When the other services were told to delete what they hold of a tenant that was deleted long ago.
  purged_at timestamptz(3) CHECK (deleted_at IS NOT NULL OR purged_at IS NULL)
);

-- One slug whatever its case; a deleted partner's is free again.
CREATE UNIQUE INDEX partners_slug ON partners (lower(slug)) WHERE deleted_at IS NULL;
CREATE INDEX partners_by_name ON partners (name, id) WHERE deleted_at IS NULL;
CREATE INDEX partners_to_purge ON partners (deleted_at) WHERE deleted_at IS NOT NULL AND purged_at IS NULL;

ALTER TABLE partners ENABLE ROW LEVEL SECURITY;
-- Asked so that the planner can judge it, here and in the policies of organizations and sites: a sub-select that is compared, `(SELECT …) = 'system'`, counts as
-- one row in 200; with several of them a list of a million rows looked like 12, and was read whole and sorted. A sub-select
-- that is itself the condition counts as every second row: lists walk their index again.
CREATE POLICY partners_read ON partners FOR SELECT USING (
  (SELECT current_setting('app.scope', true) = 'system')
  OR id = (SELECT nullif(current_setting('app.partner_id', true), '')::uuid)
);
CALL policy('partners_insert', 'partners', 'insert', 'system');
-- A partner's people change their own row: name, billing, settings; and lock it while they add an organization.
CREATE POLICY partners_update ON partners FOR UPDATE
  USING (
    (SELECT current_setting('app.scope', true)) = 'system'
    OR (
      (SELECT current_setting('app.scope', true)) = 'partner'
      AND id = (SELECT nullif(current_setting('app.partner_id', true), '')::uuid)
    )
  );

-- Customers of partners. A partner's people see all of its organizations or exactly those granted to them.
CREATE TABLE organizations (
  id uuid PRIMARY KEY,
  partner_id uuid NOT NULL REFERENCES partners (id),
  name varchar(255) NOT NULL CHECK (name <> ''),
  slug varchar(100) NOT NULL CHECK (slug ~ '^[A-Za-z0-9][A-Za-z0-9._~-]*$'),
  type text NOT NULL CHECK (type IN ('customer', 'internal')),
  status text NOT NULL CHECK (status IN ('active', 'suspended', 'trial', 'churned')),
  max_devices integer CHECK (max_devices >= 0),
  settings jsonb NOT NULL DEFAULT '{}',
  sso_config jsonb NOT NULL DEFAULT '{}',
  billing_contact jsonb NOT NULL DEFAULT '{}',
  contract_start timestamptz(3),
  contract_end timestamptz(3) CHECK (contract_end >= contract_start),
  version bigint NOT NULL DEFAULT 1,
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL,
  deleted_at timestamptz(3),
  -- As of partners.
  purged_at timestamptz(3) CHECK (deleted_at IS NOT NULL OR purged_at IS NULL),
  -- What a site refers to, so that its partner is always its organization's.
  UNIQUE (id, partner_id)
);

-- One slug per partner whatever its case; a deleted organization's is free again.
CREATE UNIQUE INDEX organizations_slug ON organizations (partner_id, lower(slug)) WHERE deleted_at IS NULL;
CREATE INDEX organizations_by_name ON organizations (name, id) INCLUDE (partner_id) WHERE deleted_at IS NULL;
CREATE INDEX organizations_by_partner ON organizations (partner_id, name, id) WHERE deleted_at IS NULL;
CREATE INDEX organizations_registered ON organizations (partner_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX organizations_deleted ON organizations (partner_id, id) WHERE deleted_at IS NOT NULL;
CREATE INDEX organizations_to_purge ON organizations (deleted_at) WHERE deleted_at IS NOT NULL AND purged_at IS NULL;

ALTER TABLE organizations ENABLE ROW LEVEL SECURITY;
CREATE POLICY organizations_read ON organizations FOR SELECT USING (
  (SELECT current_setting('app.scope', true) = 'system')
  OR (
    (SELECT current_setting('app.scope', true) = 'partner')
    AND partner_id = (SELECT nullif(current_setting('app.partner_id', true), '')::uuid)
    AND (
      (SELECT current_setting('app.org_access', true) = 'all')
      OR id = ANY ((SELECT nullif(current_setting('app.org_ids', true), '')::uuid[])::uuid[])
    )
  )
  OR (
    (SELECT current_setting('app.scope', true) = 'organization')
    AND id = (SELECT nullif(current_setting('app.org_id', true), '')::uuid)
  )
);
CREATE POLICY organizations_insert ON organizations FOR INSERT WITH CHECK (
  (SELECT current_setting('app.scope', true)) = 'system'
  OR (
    (SELECT current_setting('app.scope', true)) = 'partner'
    AND partner_id = (SELECT nullif(current_setting('app.partner_id', true), '')::uuid)
    AND (SELECT current_setting('app.org_access', true)) = 'all'
  )
);
CREATE POLICY organizations_update ON organizations FOR UPDATE
  USING (
    (SELECT current_setting('app.scope', true)) = 'system'
    OR (
      (SELECT current_setting('app.scope', true)) = 'partner'
      AND partner_id = (SELECT nullif(current_setting('app.partner_id', true), '')::uuid)
      AND (
        (SELECT current_setting('app.org_access', true)) = 'all'
        OR id = ANY ((SELECT nullif(current_setting('app.org_ids', true), '')::uuid[])::uuid[])
      )
    )
  )
  WITH CHECK (
    (SELECT current_setting('app.scope', true)) = 'system'
    OR partner_id = (SELECT nullif(current_setting('app.partner_id', true), '')::uuid)
  );

-- Locations of organizations, deleted for good. People may be restricted to some sites of what they reach.
CREATE TABLE sites (
  id uuid PRIMARY KEY,
  org_id uuid NOT NULL,
  partner_id uuid NOT NULL,
  name varchar(255) NOT NULL CHECK (name <> ''),
  timezone varchar(50) NOT NULL DEFAULT 'UTC',
  address jsonb NOT NULL DEFAULT '{}',
  contact jsonb NOT NULL DEFAULT '{}',
  settings jsonb NOT NULL DEFAULT '{}',
  version bigint NOT NULL DEFAULT 1,
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL,
  FOREIGN KEY (org_id, partner_id) REFERENCES organizations (id, partner_id),
  -- What a device refers to, so that its site is always its organization's.
  CONSTRAINT sites_id_org UNIQUE (id, org_id)
);

-- Each with all that the policies read, so that counting and skipping pages never touch the rows.
CREATE INDEX sites_by_org ON sites (org_id, name, id) INCLUDE (partner_id);
CREATE INDEX sites_by_partner ON sites (partner_id, name, id) INCLUDE (org_id);
CREATE INDEX sites_by_name ON sites (name, id) INCLUDE (partner_id, org_id);

ALTER TABLE sites ENABLE ROW LEVEL SECURITY;
CREATE POLICY sites_reached ON sites
  USING (
    (
      (SELECT current_setting('app.scope', true) = 'system')
      OR (
        (SELECT current_setting('app.scope', true) = 'partner')
        AND partner_id = (SELECT nullif(current_setting('app.partner_id', true), '')::uuid)
        AND (
          (SELECT current_setting('app.org_access', true) = 'all')
          OR org_id = ANY ((SELECT nullif(current_setting('app.org_ids', true), '')::uuid[])::uuid[])
        )
      )
      OR (
        (SELECT current_setting('app.scope', true) = 'organization')
        AND org_id = (SELECT nullif(current_setting('app.org_id', true), '')::uuid)
      )
    )
    AND (
      (SELECT coalesce(current_setting('app.site_ids', true), '') = '')
      OR id = ANY ((SELECT nullif(current_setting('app.site_ids', true), '')::uuid[])::uuid[])
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

-- Managed devices, their groups and how many of them live. A device keeps its organization for life; its site may change
-- within it and goes when the site is deleted.
-- What of a hardware id tells machines apart: the same id is written in upper and lower case, with braces, spaces or without dashes, and
-- firmware that nobody filled in says the same on every board: no identity, so that nobody is taken for a clone by it.
-- Of ids that repeat one character only those are no identity that firmware is known to say: zeros, and runs of f, x, 1 and 9.
CREATE FUNCTION hardware_identity(hardware_id text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE
    WHEN regexp_replace(spelled, '[^a-z0-9]', '', 'g') ~ '^(0+|f{4,}|x{4,}|1{4,}|9{4,})$' THEN NULL
    WHEN regexp_replace(spelled, '[^a-z0-9]', '', 'g') = ANY (ARRAY[
      '', 'none', 'na', 'nil', 'null', 'unknown', 'undefined', 'invalid', 'empty', 'default', 'defaultstring', 'oem', 'serial', 'serialnumber',
      'tobefilledbyoem', 'filledbyoem', 'systemserialnumber', 'systemproductname', 'systemmanufacturer', 'chassisserialnumber',
      'baseboardserialnumber', 'notspecified', 'notapplicable', 'notavailable', 'notpresent', 'notset', 'nostring', 'noserial',
      '123456789', '0123456789', '1234567890', '12345678',
      -- SMBIOS tables that board makers ship as they got them.
      '03000200040005000006000700080009', '00020003000400050006000700080009', '12345678123456789012345678901234',
      '1234567812345678123456781234567812345678', '123456781234567890abcddeefaabbcc', '12345678123456781234567812345678',
      'fefefefefefefefefefefefefefefefe'
    ]) THEN NULL
    WHEN replace(spelled, '-', '') ~ '^[0-9a-f]{32}$' THEN replace(spelled, '-', '')
    ELSE spelled
  END
  FROM (SELECT regexp_replace(
    regexp_replace(lower(btrim(hardware_id, E' \t\r\n')), '^(urn:)?uuid:', ''), '^\{\s*(.*?)\s*\}$', '\1') AS spelled) AS trimmed
$$;
GRANT EXECUTE ON FUNCTION hardware_identity(text) TO muster_tenancy_app;

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
  labels jsonb NOT NULL DEFAULT '{}',
  quarantine_reason text,
  -- Approved although another living device has the hardware id: it is not the one that the id belongs to.
  hardware_shared boolean NOT NULL DEFAULT false,
  -- What the agent last said of itself.
  reported jsonb,
  -- When to look whether it is still there. Not moved by heartbeats, so that they touch no index: whoever looks then and finds
  -- a newer heartbeat moves it on.
  offline_check_at timestamptz,
  FOREIGN KEY (org_id, partner_id) REFERENCES organizations (id, partner_id),
  -- The site is one of the device's own organization.
  FOREIGN KEY (site_id, org_id) REFERENCES sites (id, org_id) ON DELETE SET NULL (site_id)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05); -- room for heartbeats beside the row they replace (HOT)


-- Each with all that policies and searches read: pages are found, skipped and counted without touching the rows. Nothing
-- that a heartbeat writes is indexed.
CREATE INDEX devices_by_org ON devices (org_id, created_at DESC, id DESC) INCLUDE (partner_id, site_id, hostname);
CREATE INDEX devices_by_partner ON devices (partner_id, created_at DESC, id DESC) INCLUDE (org_id, site_id, hostname);
CREATE INDEX devices_newest ON devices (created_at DESC, id DESC) INCLUDE (partner_id, org_id, site_id, hostname);
CREATE INDEX devices_by_site ON devices (site_id, created_at DESC, id DESC) INCLUDE (partner_id, org_id, hostname);
CREATE INDEX devices_by_status ON devices (org_id, status, created_at DESC, id DESC) INCLUDE (partner_id, site_id, hostname);
CREATE INDEX devices_offline_check ON devices (offline_check_at) WHERE status = 'online';
-- One trusted device per hardware id: whoever comes with the same one is quarantined.
CREATE UNIQUE INDEX devices_hardware_identity ON devices (org_id, hardware_identity(hardware_id))
  WHERE hardware_identity(hardware_id) IS NOT NULL AND NOT hardware_shared AND status NOT IN ('decommissioned', 'quarantined');

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
CALL policy('devices_reached', 'devices', 'all', 'site');

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
CALL policy('device_groups_reached', 'device_groups', 'all', 'site');

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
CALL policy('device_group_members_reached', 'device_group_members', 'all', 'organization');

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
CALL policy('device_counts_insert', 'device_counts', 'insert', 'system');
CALL policy('device_counts_read', 'device_counts', 'select', 'organization');
CALL policy('device_counts_update', 'device_counts', 'update', 'organization');

-- Ids of enrollments that were given up before their device was made: it is refused when it comes late.
CREATE TABLE discarded_devices (
  id uuid PRIMARY KEY,
  discarded_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX discarded_devices_age ON discarded_devices (discarded_at);
ALTER TABLE discarded_devices ENABLE ROW LEVEL SECURITY;
CALL policy('discarded_devices_system', 'discarded_devices', 'all', 'system');

-- One row: whoever holds it looks for devices that are gone. A pause in looking was a pause in hearing, too: devices get time
-- to come by before anybody is called offline.
CREATE TABLE presence_watch (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  looked_at timestamptz NOT NULL,
  patient_until timestamptz NOT NULL
);
ALTER TABLE presence_watch ENABLE ROW LEVEL SECURITY;
CALL policy('presence_watch_system', 'presence_watch', 'all', 'system');
INSERT INTO presence_watch (looked_at, patient_until) VALUES ('-infinity', '-infinity');
