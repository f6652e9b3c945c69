-- Whoever may ask for a verification queues it in their own transaction, with the audit row and the stored reply.
CREATE POLICY job_verify ON job FOR INSERT
  WITH CHECK (kind = 'audit.verify' AND state = 'queued' AND cursor IS NULL AND result IS NULL
              AND (SELECT current_setting('app.scope', true)) IN ('system', 'partner', 'organization'));
