-- Halts that platform administrators are to be notified of; a row goes when identity has it.
CREATE TABLE halt_notice (
  id uuid PRIMARY KEY,
  rollout_id uuid NOT NULL,
  line varchar(500) NOT NULL,
  created_at timestamptz(3) NOT NULL,
  next_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX halt_notice_due ON halt_notice (next_at);
ALTER TABLE halt_notice ENABLE ROW LEVEL SECURITY;
CALL policy('halt_notice_system', 'halt_notice', 'all', 'system');
