-- The inviter's name, as the invitation's mail has it; null for earlier ones.
ALTER TABLE invites ADD COLUMN invited_by text;
