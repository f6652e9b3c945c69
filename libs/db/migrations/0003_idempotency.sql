-- Replies of mutations that were asked for under an Idempotency-Key, written by the transaction that makes the change: an
-- acknowledged change and its stored reply are one. `reply` is null only while that transaction runs.
create table idempotency (
  -- app.actor_id of whoever asked.
  caller text not null check (caller <> ''),
  rpc text not null,
  key text not null check (octet_length(key) between 1 and 255),
  request_sha256 bytea not null check (octet_length(request_sha256) = 32),
  reply bytea,
  created_at timestamptz not null default now(),
  primary key (caller, rpc, key)
);

create index idempotency_created on idempotency (created_at);

alter table idempotency enable row level security;
-- A reply is for whoever was given it, whatever else they may see.
create policy idempotency_own on idempotency
  using (caller = (select nullif(current_setting('app.actor_id', true), '')))
  with check (caller = (select nullif(current_setting('app.actor_id', true), '')));
-- The system removes what counts no longer, and sees nothing younger.
create policy idempotency_clean on idempotency
  using ((select current_setting('app.scope', true)) = 'system' and created_at < now() - interval '24 hours')
  with check (false);
