-- Whose rollout it is: it includes only devices of this partner; null: the platform's.
ALTER TABLE rollout ADD COLUMN partner_id uuid;
-- The platform paused it: its partner cannot resume it.
ALTER TABLE rollout ADD COLUMN held_by_platform boolean NOT NULL DEFAULT false;
CREATE INDEX rollout_partner ON rollout (partner_id, created_at DESC, id DESC) WHERE partner_id IS NOT NULL;
-- Whose people are to be notified of the halt; null: the platform's administrators.
ALTER TABLE halt_notice ADD COLUMN partner_id uuid;
