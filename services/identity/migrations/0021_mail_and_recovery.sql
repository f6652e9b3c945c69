-- Mail that waits to be sent, and links that set a new password.
CREATE TABLE mail (
  id uuid PRIMARY KEY,
  -- invite, password_reset, password_changed, factor_added; password_reset_request is not a mail yet: it becomes one, or nothing.
  kind text NOT NULL,
  -- Address, text and links, sealed under SECRET_ENCRYPTION_KEY (purpose mail); gone once sent.
  sealed bytea,
  state text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'sent', 'poison')),
  attempts integer NOT NULL DEFAULT 0,
  -- Not before; pushed ahead while somebody is at it.
  next_at timestamptz(3) NOT NULL,
  -- When sending it no longer makes sense.
  expires_at timestamptz(3) NOT NULL,
  created_at timestamptz(3) NOT NULL,
  finished_at timestamptz(3),
  last_error text
);
CREATE INDEX mail_waiting ON mail (next_at) WHERE state = 'waiting';
CREATE INDEX mail_finished ON mail (finished_at) WHERE state <> 'waiting';

CREATE TABLE password_resets (
  id uuid PRIMARY KEY,
  user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
  -- SHA-256: the token itself is 256 random bits.
  token_hash bytea NOT NULL UNIQUE,
  created_at timestamptz(3) NOT NULL,
  expires_at timestamptz(3) NOT NULL,
  used_at timestamptz(3)
);
CREATE INDEX password_resets_user ON password_resets (user_id);
CREATE INDEX password_resets_expiry ON password_resets (expires_at);

ALTER TABLE mail ENABLE ROW LEVEL SECURITY;
ALTER TABLE password_resets ENABLE ROW LEVEL SECURITY;

-- Whoever acts may leave a mail with what they do; only the service itself reads them.
CREATE POLICY mail_system ON mail FOR ALL
  USING ((SELECT current_setting('app.scope', true)) = 'system')
  WITH CHECK ((SELECT current_setting('app.scope', true)) = 'system');
CREATE POLICY mail_queue ON mail FOR INSERT
  WITH CHECK ((SELECT current_setting('app.scope', true)) IN ('partner', 'organization'));
CREATE POLICY password_resets_own ON password_resets FOR ALL USING (
  (SELECT current_setting('app.scope', true)) <> ''
  AND user_id::text = (SELECT current_setting('app.actor_id', true)));
CREATE POLICY password_resets_system ON password_resets FOR ALL
  USING ((SELECT current_setting('app.scope', true)) = 'system')
  WITH CHECK ((SELECT current_setting('app.scope', true)) = 'system');

-- Before anybody is signed in, as in 0003.
GRANT SELECT (id, user_id, token_hash, expires_at, used_at) ON password_resets TO muster_identity_lookup;
CREATE POLICY password_resets_lookup ON password_resets FOR SELECT TO muster_identity_lookup USING (true);
CREATE FUNCTION find_password_reset(wanted_hash bytea) RETURNS SETOF token_holder
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = identity, pg_temp AS $$
  SELECT id, user_id, expires_at, used_at FROM identity.password_resets WHERE token_hash = wanted_hash
$$;
REVOKE ALL ON FUNCTION find_password_reset(bytea) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION find_password_reset(bytea) TO muster_identity_app;
ALTER FUNCTION find_password_reset(bytea) OWNER TO muster_identity_lookup;
