-- Sign-ins of clients without a browser that a user approves in one (RFC 8628).
CREATE TABLE device_authorizations (
  id uuid PRIMARY KEY,
  -- SHA-256 of the device code; HMAC of the user code, which is short enough to be guessed from a plain hash.
  device_hash bytea NOT NULL UNIQUE,
  user_hash bytea NOT NULL UNIQUE,
  client_name varchar(255) NOT NULL,
  ip_address varchar(45),
  interval_seconds integer NOT NULL,
  polled_at timestamptz(3),
  status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'approved', 'denied')),
  -- Who approved it, and in which session: with that session's end the approval ends.
  user_id uuid REFERENCES users ON DELETE CASCADE,
  partner_id uuid,
  org_id uuid,
  session_id uuid REFERENCES sessions ON DELETE CASCADE,
  mfa_at timestamptz(3),
  created_at timestamptz(3) NOT NULL,
  expires_at timestamptz(3) NOT NULL,
  CHECK ((status = 'approved') = (session_id IS NOT NULL)),
  CHECK (session_id IS NULL OR user_id IS NOT NULL)
);
CREATE INDEX device_authorizations_expiry ON device_authorizations (expires_at);
CREATE INDEX device_authorizations_user ON device_authorizations (user_id) WHERE user_id IS NOT NULL;
CREATE INDEX device_authorizations_session ON device_authorizations (session_id) WHERE session_id IS NOT NULL;
CREATE INDEX device_authorizations_tenant ON device_authorizations (partner_id, org_id) WHERE status = 'approved';

ALTER TABLE device_authorizations ENABLE ROW LEVEL SECURITY;
-- Pending ones belong to nobody: the service alone sees them.
CALL policy('device_authorizations_tenant', 'device_authorizations', 'all', 'tenant');

-- What a client that signed in so calls itself; null for browsers and for sign-ins by password.
ALTER TABLE sessions ADD COLUMN client_name varchar(255);
