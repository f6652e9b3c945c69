-- The catalogue: read by whoever calls, written by the service itself.
CREATE TABLE release (
  id uuid PRIMARY KEY,
  component text NOT NULL CHECK (component IN ('agent', 'watchdog', 'helper')),
  -- Semantic version without leading v and without build metadata.
  version text NOT NULL CHECK (version <> '' AND length(version) <= 50),
  prerelease boolean NOT NULL,
  source text NOT NULL,
  -- Signed note as it came; null where the release was registered without one.
  manifest text,
  signed boolean NOT NULL,
  counter bigint NOT NULL DEFAULT 0,
  expires_at timestamptz(3),
  minimum_version text,
  notes_url text,
  created_by text NOT NULL,
  created_at timestamptz(3) NOT NULL,
  yanked_at timestamptz(3)
);
CREATE UNIQUE INDEX release_version ON release (component, version);
CREATE INDEX release_newest ON release (created_at DESC, id DESC);

CREATE TABLE artifact (
  release_id uuid NOT NULL REFERENCES release ON DELETE CASCADE,
  os text NOT NULL CHECK (os IN ('windows', 'linux', 'darwin')),
  arch text NOT NULL CHECK (arch IN ('amd64', 'arm64', '386')),
  name text NOT NULL,
  size bigint NOT NULL CHECK (size > 0),
  sha256 text NOT NULL CHECK (sha256 ~ '^[0-9a-f]{64}$'),
  source_url text,
  stored boolean NOT NULL,
  PRIMARY KEY (release_id, os, arch)
);
CREATE INDEX artifact_sha256 ON artifact (sha256);

CREATE TABLE promotion (
  component text PRIMARY KEY CHECK (component IN ('agent', 'watchdog', 'helper')),
  release_id uuid REFERENCES release,
  previous_id uuid REFERENCES release ON DELETE SET NULL,
  promoted_at timestamptz(3),
  promoted_by text
);
INSERT INTO promotion (component) VALUES ('agent'), ('watchdog'), ('helper');

-- Every release has one guard; staged ones come beside it. Counters move in the transactions of the attempts.
CREATE TABLE rollout (
  id uuid PRIMARY KEY,
  release_id uuid NOT NULL REFERENCES release ON DELETE CASCADE,
  kind text NOT NULL CHECK (kind IN ('guard', 'staged')),
  state text NOT NULL CHECK (state IN ('running', 'paused', 'halted', 'completed', 'cancelled')),
  -- JSON array of {name, partnerIds, orgIds, siteIds, groupIds}; the first open_rings of them count.
  rings jsonb NOT NULL DEFAULT '[]',
  open_rings integer NOT NULL DEFAULT 0,
  percent double precision NOT NULL DEFAULT 100 CHECK (percent >= 0 AND percent <= 100),
  max_in_flight integer NOT NULL CHECK (max_in_flight > 0),
  halt_failures integer NOT NULL CHECK (halt_failures > 0),
  halt_percent double precision NOT NULL CHECK (halt_percent >= 0 AND halt_percent <= 100),
  soak_seconds integer NOT NULL CHECK (soak_seconds >= 0),
  in_flight integer NOT NULL DEFAULT 0 CHECK (in_flight >= 0),
  succeeded integer NOT NULL DEFAULT 0 CHECK (succeeded >= 0),
  failed integer NOT NULL DEFAULT 0 CHECK (failed >= 0),
  forgiven integer NOT NULL DEFAULT 0 CHECK (forgiven >= 0),
  reason text,
  created_by text NOT NULL,
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL
) WITH (fillfactor = 50);
CREATE UNIQUE INDEX rollout_guard ON rollout (release_id) WHERE kind = 'guard';
CREATE INDEX rollout_newest ON rollout (created_at DESC, id DESC);

-- What gateways and replicas may remember is of an epoch.
CREATE TABLE plan (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  epoch bigint NOT NULL
);
INSERT INTO plan (epoch) VALUES (1);
CREATE TABLE plan_change (
  epoch bigint NOT NULL,
  scope text NOT NULL CHECK (scope IN ('all', 'partner', 'organization')),
  -- Null for all.
  id uuid,
  changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  UNIQUE (epoch, scope, id)
);
CREATE INDEX plan_change_age ON plan_change (changed_at);

ALTER TABLE release ENABLE ROW LEVEL SECURITY;
ALTER TABLE artifact ENABLE ROW LEVEL SECURITY;
ALTER TABLE promotion ENABLE ROW LEVEL SECURITY;
ALTER TABLE rollout ENABLE ROW LEVEL SECURITY;
ALTER TABLE plan ENABLE ROW LEVEL SECURITY;
ALTER TABLE plan_change ENABLE ROW LEVEL SECURITY;
CREATE POLICY release_read ON release FOR SELECT
  USING ((SELECT current_setting('app.scope', true)) IN ('system', 'partner', 'organization'));
CREATE POLICY artifact_read ON artifact FOR SELECT
  USING ((SELECT current_setting('app.scope', true)) IN ('system', 'partner', 'organization'));
CREATE POLICY promotion_read ON promotion FOR SELECT
  USING ((SELECT current_setting('app.scope', true)) IN ('system', 'partner', 'organization'));
-- Rings name tenants: rollouts are for platform people.
CREATE POLICY release_write ON release
  USING ((SELECT current_setting('app.scope', true)) = 'system');
CREATE POLICY artifact_write ON artifact
  USING ((SELECT current_setting('app.scope', true)) = 'system');
CREATE POLICY promotion_write ON promotion
  USING ((SELECT current_setting('app.scope', true)) = 'system');
CREATE POLICY rollout_system ON rollout
  USING ((SELECT current_setting('app.scope', true)) = 'system');
CREATE POLICY plan_system ON plan
  USING ((SELECT current_setting('app.scope', true)) = 'system');
CREATE POLICY plan_change_system ON plan_change
  USING ((SELECT current_setting('app.scope', true)) = 'system');
