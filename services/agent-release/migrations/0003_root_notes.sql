-- How the keys of manifests were exchanged: agents follow these notes from the keys that they were built with.
CREATE TABLE root_note (
  number integer PRIMARY KEY CHECK (number > 1),
  note text NOT NULL,
  created_by text NOT NULL,
  created_at timestamptz(3) NOT NULL
);
ALTER TABLE root_note ENABLE ROW LEVEL SECURITY;
CREATE POLICY root_note_system ON root_note
  USING ((SELECT current_setting('app.scope', true)) = 'system');
