-- What a row is about besides its resource, [{"type", "id", "name"}]: sealed in format 2. Null in format 1.
ALTER TABLE audit_log ADD COLUMN targets jsonb;

-- An address as text in a row, null where it is none: whatever stands there, a filter by network goes on.
CREATE FUNCTION address_of(written text) RETURNS inet LANGUAGE plpgsql IMMUTABLE STRICT AS $$
BEGIN
  RETURN written::inet;
EXCEPTION WHEN others THEN
  RETURN NULL;
END $$;
GRANT EXECUTE ON FUNCTION address_of(text) TO muster_audit_app;
