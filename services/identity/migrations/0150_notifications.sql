-- What users are notified of by mail: at most one mail per user, kind and hour, with all lines that came meanwhile.
CREATE TABLE notification_lines (
  user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
  -- Id of the occurrence, of its sender: a repeat adds nothing.
  id uuid NOT NULL,
  kind text NOT NULL,
  -- Tenant that it is about, and the permission that its readers need there.
  org_id uuid,
  partner_id uuid,
  permission text NOT NULL,
  -- Emptied once it is mailed.
  line text NOT NULL,
  link text NOT NULL,
  created_at timestamptz(3) NOT NULL,
  mailed_at timestamptz(3),
  PRIMARY KEY (user_id, id)
);
CREATE INDEX notification_lines_waiting ON notification_lines (user_id, kind, created_at, id) WHERE mailed_at IS NULL;
CREATE INDEX notification_lines_mailed ON notification_lines (mailed_at) WHERE mailed_at IS NOT NULL;

CREATE TABLE notification_choices (
  user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
  kind text NOT NULL,
  -- Whether the user wants mails of the kind.
  mail boolean NOT NULL DEFAULT true,
  last_mail_at timestamptz(3),
  -- When the next mail is sent; null while no line waits.
  due_at timestamptz(3),
  PRIMARY KEY (user_id, kind)
);
CREATE INDEX notification_choices_due ON notification_choices (due_at) WHERE due_at IS NOT NULL;

ALTER TABLE notification_lines ENABLE ROW LEVEL SECURITY;
ALTER TABLE notification_choices ENABLE ROW LEVEL SECURITY;
CALL policy('notification_lines_system', 'notification_lines', 'all', 'system');
CALL policy('notification_choices_own', 'notification_choices', 'all', 'person');
CALL policy('notification_choices_system', 'notification_choices', 'all', 'system');
