-- What the metadata of a provider holds and sign-in does not use, as sentences for its administrators.
ALTER TABLE sso_providers ADD COLUMN saml_metadata_omitted text[] NOT NULL DEFAULT '{}';
