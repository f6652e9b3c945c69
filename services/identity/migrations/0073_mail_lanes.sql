-- Mails of one lane are sent one after the other, and lanes take turns, so that no organization's invitations delay the mail
-- of others. A lane is a hash of an organization (else a partner), separately for its invitations, or of the network that
-- asks for new passwords.
ALTER TABLE mail ADD COLUMN lane text COLLATE "C" NOT NULL DEFAULT 'none';
CREATE INDEX mail_lanes ON mail (lane, next_at) WHERE state = 'waiting';
