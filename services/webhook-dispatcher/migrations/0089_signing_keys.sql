-- Key pairs (ed25519) of webhooks that also sign as v1a: the private key is sealed, the public one is for everybody.
-- Null: such a webhook signs with its secret alone.
ALTER TABLE webhooks
  ADD COLUMN signing_key_sealed bytea,
  ADD COLUMN signing_key_public bytea,
  -- Signs beside the other until then.
  ADD COLUMN previous_signing_key_sealed bytea,
  ADD COLUMN previous_signing_key_public bytea,
  ADD COLUMN previous_signing_key_until timestamptz(3),
  ADD CHECK ((signing_key_sealed IS NULL) = (signing_key_public IS NULL));
