-- Passkeys (WebAuthn level 3) as second factors, and the challenges they answer.
CREATE TABLE passkeys (
  id uuid PRIMARY KEY,
  user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
  -- Chosen by the authenticator, at most 1,023 bytes (section 4, "Credential ID").
  credential_id bytea NOT NULL UNIQUE,
  -- COSE_Key: nothing secret.
  public_key bytea NOT NULL,
  -- Signature counter as last seen; 0 where the authenticator keeps none (synced passkeys).
  counter bigint NOT NULL,
  transports text[] NOT NULL,
  -- Model of the authenticator; zero where it is not told.
  aaguid uuid NOT NULL,
  multi_device boolean NOT NULL,
  backed_up boolean NOT NULL,
  name varchar(255) NOT NULL,
  created_at timestamptz(3) NOT NULL,
  last_used_at timestamptz(3)
);
CREATE INDEX passkeys_user ON passkeys (user_id, created_at);

-- One row per challenge that was handed out; deleted by the first answer to it, right or wrong.
CREATE TABLE passkey_challenges (
  -- SHA-256 of the challenge.
  challenge_hash bytea PRIMARY KEY,
  user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
  purpose text NOT NULL CHECK (purpose IN ('register', 'authenticate')),
  -- What it is for: a session, or a sign-in that waits for its second factor.
  session_id uuid REFERENCES sessions ON DELETE CASCADE,
  mfa_challenge_id uuid REFERENCES mfa_challenges ON DELETE CASCADE,
  expires_at timestamptz(3) NOT NULL,
  CHECK ((session_id IS NULL) <> (mfa_challenge_id IS NULL))
);
CREATE INDEX passkey_challenges_user ON passkey_challenges (user_id, expires_at);
CREATE INDEX passkey_challenges_expiry ON passkey_challenges (expires_at);
CREATE INDEX passkey_challenges_session ON passkey_challenges (session_id);
CREATE INDEX passkey_challenges_sign_in ON passkey_challenges (mfa_challenge_id);

ALTER TABLE passkeys ENABLE ROW LEVEL SECURITY;
ALTER TABLE passkey_challenges ENABLE ROW LEVEL SECURITY;

-- Their person's alone, as the other second factors.
CREATE POLICY passkeys_own ON passkeys FOR ALL USING (
  (SELECT current_setting('app.scope', true)) <> ''
  AND user_id::text = (SELECT current_setting('app.actor_id', true)));
CREATE POLICY passkey_challenges_own ON passkey_challenges FOR ALL USING (
  (SELECT current_setting('app.scope', true)) <> ''
  AND user_id::text = (SELECT current_setting('app.actor_id', true)));

-- Failures of second factors are counted in failed_attempts since 0012; no version that wrote this table runs any more.
DROP TABLE mfa_failures;
