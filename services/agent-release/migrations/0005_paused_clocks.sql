-- While a rollout is paused the clocks of its attempts stand still: they are moved by the pause when it ends.
ALTER TABLE rollout ADD COLUMN paused_at timestamptz;
UPDATE rollout SET paused_at = updated_at WHERE state = 'paused';
