-- Verifications are listed by chain, newest first.
CREATE INDEX job_verifications ON job (((input->>'chainId')::uuid), id DESC) WHERE kind = 'audit.verify';
