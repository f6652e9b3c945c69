-- Rings, waves and limits under a name, for new rollouts. `limits` holds the numbers that it sets, by their names.
CREATE TABLE rollout_template (
  id uuid PRIMARY KEY,
  name text NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
  rings jsonb NOT NULL,
  limits jsonb NOT NULL,
  created_by text NOT NULL,
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL
);
CREATE UNIQUE INDEX rollout_template_name ON rollout_template (lower(name));

ALTER TABLE rollout_template ENABLE ROW LEVEL SECURITY;
CALL policy('rollout_template_system', 'rollout_template', 'all', 'system');
