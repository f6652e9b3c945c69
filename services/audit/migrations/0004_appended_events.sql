-- Events that other programs have appended lately: a repeat is recognised before its row is sealed. The chain itself
-- knows the ids of those that were deleted here.
CREATE TABLE appended_event (
  org_id uuid NOT NULL,
  id uuid NOT NULL,
  partner_id uuid NOT NULL,
  accepted_at timestamptz(3) NOT NULL,
  PRIMARY KEY (org_id, id)
);
CREATE INDEX appended_event_by_time ON appended_event (accepted_at);

-- How many an organization has appended on a day (UTC).
CREATE TABLE appended_rows (
  org_id uuid NOT NULL,
  day date NOT NULL,
  partner_id uuid NOT NULL,
  rows integer NOT NULL,
  PRIMARY KEY (org_id, day)
);
CREATE INDEX appended_rows_by_day ON appended_rows (day);

ALTER TABLE appended_event ENABLE ROW LEVEL SECURITY;
ALTER TABLE appended_rows ENABLE ROW LEVEL SECURITY;
CALL policy('appended_event_own', 'appended_event', 'all', 'organization');
CALL policy('appended_rows_own', 'appended_rows', 'all', 'organization');
