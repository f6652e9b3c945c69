-- An administrator removes the second factors of a person, which are that person's alone: with the owner's rights, and only of
-- people whom the caller sees. What was enrolled, or no row when there is no such person for the caller.
CREATE FUNCTION reset_factors(wanted_user uuid, OUT totp boolean, OUT passkeys integer) RETURNS SETOF record
LANGUAGE plpgsql SECURITY DEFINER SET search_path = identity, pg_temp AS $$
DECLARE
  is_seen boolean;
BEGIN
  EXECUTE format('SELECT EXISTS (SELECT FROM identity.users WHERE id = $1 AND (%s))', policy_condition('tenant'))
    INTO is_seen USING wanted_user;
  IF NOT is_seen THEN
    RETURN;
  END IF;
  totp := EXISTS (SELECT FROM identity.user_totp t WHERE t.user_id = wanted_user AND t.confirmed_at IS NOT NULL);
  DELETE FROM identity.user_totp t WHERE t.user_id = wanted_user;
  DELETE FROM identity.passkeys p WHERE p.user_id = wanted_user;
  GET DIAGNOSTICS passkeys = ROW_COUNT;
  DELETE FROM identity.recovery_codes c WHERE c.user_id = wanted_user;
  DELETE FROM identity.passkey_challenges c WHERE c.user_id = wanted_user;
  DELETE FROM identity.mfa_challenges c WHERE c.user_id = wanted_user;
  RETURN NEXT;
END $$;
REVOKE ALL ON FUNCTION reset_factors(uuid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION reset_factors(uuid) TO muster_identity_app;
