-- What of a hardware id tells machines apart: the same id is written in upper and lower case, with braces, spaces or without dashes, and
-- firmware that nobody filled in says the same on every board: no identity, so that nobody is taken for a clone by it.
CREATE FUNCTION hardware_identity(hardware_id text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE
    WHEN regexp_replace(spelled, '[^a-z0-9]', '', 'g') ~ '^(.)\1*$' THEN NULL
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

-- Trusted machines that were told apart by spelling until now stay trusted; the first of them is the id's own.
UPDATE devices d SET hardware_shared = true
WHERE hardware_identity(d.hardware_id) IS NOT NULL AND NOT d.hardware_shared AND d.status NOT IN ('decommissioned', 'quarantined')
  AND EXISTS (
    SELECT FROM devices o
    WHERE o.org_id = d.org_id AND hardware_identity(o.hardware_id) = hardware_identity(d.hardware_id) AND NOT o.hardware_shared
      AND o.status NOT IN ('decommissioned', 'quarantined') AND (o.created_at, o.id) < (d.created_at, d.id));

CREATE UNIQUE INDEX devices_hardware_identity ON devices (org_id, hardware_identity(hardware_id))
  WHERE hardware_identity(hardware_id) IS NOT NULL AND NOT hardware_shared AND status NOT IN ('decommissioned', 'quarantined');
DROP INDEX devices_hardware_owner;
GRANT EXECUTE ON FUNCTION hardware_identity(text) TO muster_tenancy_app;
