-- Failures that count towards a limit: of second factors per person, of sign-ins per address and account, of unknown keys
-- per address. It takes the place of mfa_failures, which goes once no version that writes it runs.
CREATE TABLE failed_attempts (
  -- SHA-256 of what is limited: e-mails of strangers are not kept.
  bucket bytea PRIMARY KEY,
  -- Whose second factor it is about; null for what strangers try.
  user_id uuid REFERENCES users ON DELETE CASCADE,
  -- The newest failures, oldest first; never more than the limit.
  failed_at timestamptz(3)[] NOT NULL,
  -- When none of them counts any more.
  expires_at timestamptz(3) NOT NULL
) WITH (fillfactor = 70);
CREATE INDEX failed_attempts_expiry ON failed_attempts (expires_at);
CREATE INDEX failed_attempts_user ON failed_attempts (user_id) WHERE user_id IS NOT NULL;

ALTER TABLE failed_attempts ENABLE ROW LEVEL SECURITY;
CREATE POLICY failed_attempts_system ON failed_attempts
  USING ((SELECT current_setting('app.scope', true)) = 'system')
  WITH CHECK ((SELECT current_setting('app.scope', true)) = 'system');
CREATE POLICY failed_attempts_own ON failed_attempts FOR ALL USING (
  (SELECT current_setting('app.scope', true)) <> ''
  AND user_id::text = (SELECT current_setting('app.actor_id', true)));
