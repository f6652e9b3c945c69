-- A rollout counts for all of its devices, and for each organization and each os/arch: a part that fails halts alone.
-- Written under the lock of the rollout's row.
CREATE TABLE rollout_part (
  rollout_id uuid NOT NULL REFERENCES rollout ON DELETE CASCADE,
  kind text NOT NULL CHECK (kind IN ('organization', 'platform')),
  -- Id of the organization, or os/arch.
  name text NOT NULL,
  -- Null for platforms.
  org_id uuid,
  partner_id uuid,
  in_flight integer NOT NULL DEFAULT 0 CHECK (in_flight >= 0),
  succeeded integer NOT NULL DEFAULT 0 CHECK (succeeded >= 0),
  failed integer NOT NULL DEFAULT 0 CHECK (failed >= 0),
  failures_before_resume integer NOT NULL DEFAULT 0 CHECK (failures_before_resume >= 0),
  -- Whether an update of the part has ended: until then its first device goes alone in a staged rollout.
  first_ended boolean NOT NULL DEFAULT false,
  halted_at timestamptz(3),
  reason text,
  PRIMARY KEY (rollout_id, kind, name)
) WITH (fillfactor = 50);
CREATE INDEX rollout_part_halted ON rollout_part (rollout_id) WHERE halted_at IS NOT NULL;
CREATE INDEX rollout_part_owner ON rollout_part (org_id) WHERE org_id IS NOT NULL;
ALTER TABLE rollout_part ENABLE ROW LEVEL SECURITY;
CALL policy('rollout_part_system', 'rollout_part', 'all', 'system');
-- os/arch of the device; null for attempts of before.
ALTER TABLE update_attempt ADD COLUMN platform text;
