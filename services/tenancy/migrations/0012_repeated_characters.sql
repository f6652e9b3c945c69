-- Of ids that repeat one character only those are no identity that firmware is known to say: zeros, and runs of f, x, 1 and 9. The index holds
-- what the function said before: it is made anew.
DROP INDEX devices_hardware_identity;

CREATE OR REPLACE FUNCTION hardware_identity(hardware_id text) RETURNS text
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

-- As in 0011: trusted machines stay trusted, the first of them is the id's own.
UPDATE devices d SET hardware_shared = true
WHERE hardware_identity(d.hardware_id) IS NOT NULL AND NOT d.hardware_shared AND d.status NOT IN ('decommissioned', 'quarantined')
  AND EXISTS (
    SELECT FROM devices o
    WHERE o.org_id = d.org_id AND hardware_identity(o.hardware_id) = hardware_identity(d.hardware_id) AND NOT o.hardware_shared
      AND o.status NOT IN ('decommissioned', 'quarantined') AND (o.created_at, o.id) < (d.created_at, d.id));

CREATE UNIQUE INDEX devices_hardware_identity ON devices (org_id, hardware_identity(hardware_id))
  WHERE hardware_identity(hardware_id) IS NOT NULL AND NOT hardware_shared AND status NOT IN ('decommissioned', 'quarantined');
