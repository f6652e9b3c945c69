-- SAML 2.0: requests that are signed, what reading a provider's metadata ended with, and which warning of its certificates was given.
ALTER TABLE sso_providers
  ADD COLUMN saml_sign_requests boolean NOT NULL DEFAULT false,
  -- Days before the last certificate's end that administrators were warned at: 30, 7, 1, 0; null while none is due.
  ADD COLUMN saml_warned_days smallint;
CREATE INDEX sso_providers_metadata ON sso_providers (saml_metadata_at) WHERE saml_metadata_url IS NOT NULL;
