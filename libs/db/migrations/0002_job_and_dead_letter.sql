-- Long work that survives its process: whoever holds a running job shows it by `heartbeat_at`; a silent one is taken over
-- with `attempts` raised, and goes on from `cursor`.
create table job (
  id uuid primary key,
  kind text not null,
  state text not null default 'queued' check (state in ('queued', 'running', 'done', 'failed')),
  input jsonb not null default '{}',
  cursor jsonb,
  result jsonb,
  error text,
  attempts integer not null default 0,
  heartbeat_at timestamptz,
  created_at timestamptz not null default now(),
  finished_at timestamptz
);

create index job_open on job (kind, created_at) where state in ('queued', 'running');

alter table job enable row level security;
create policy job_system on job
  using ((select current_setting('app.scope', true)) = 'system')
  with check ((select current_setting('app.scope', true)) = 'system');

-- Messages that could not be handled, or not published, so that their neighbours go on.
create table dead_letter (
  id uuid primary key,
  subject text not null,
  msg_id text not null,
  reason text not null,
  body bytea not null check (octet_length(body) <= 65536),
  body_bytes integer not null,
  traceparent text,
  attempts integer not null,
  created_at timestamptz not null default now(),
  requeued_at timestamptz
);

alter table dead_letter enable row level security;
create policy dead_letter_system on dead_letter
  using ((select current_setting('app.scope', true)) = 'system')
  with check ((select current_setting('app.scope', true)) = 'system');
