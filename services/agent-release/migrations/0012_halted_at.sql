-- Since when a rollout is halted as a whole: `updated_at` moves with each counter.
ALTER TABLE rollout ADD COLUMN halted_at timestamptz(3);
UPDATE rollout SET halted_at = updated_at WHERE state = 'halted';
