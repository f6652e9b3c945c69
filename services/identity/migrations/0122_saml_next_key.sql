-- Our next key for a SAML provider: in our metadata beside the present one, which it replaces at that time.
ALTER TABLE sso_providers
  ADD COLUMN saml_next_key_sealed bytea,
  ADD COLUMN saml_next_certificate text,
  ADD COLUMN saml_next_key_at timestamptz(3),
  ADD CONSTRAINT sso_providers_next_key CHECK (num_nulls(saml_next_key_sealed, saml_next_certificate, saml_next_key_at) IN (0, 3));
CREATE INDEX sso_providers_next_key_at ON sso_providers (saml_next_key_at) WHERE saml_next_key_at IS NOT NULL;
