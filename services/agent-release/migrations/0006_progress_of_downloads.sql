-- Bytes that the agent has reported of its download: each further report with more of them extends its deadline.
ALTER TABLE update_attempt ADD COLUMN progress_bytes bigint;
