-- Messages that leave with the transaction that wrote them. The relay publishes in order of id, marks on acknowledgement
-- with what the stream promised, and keeps marked rows for 10 minutes in case the stream loses its tail.
create table outbox (
  id bigint generated always as identity primary key,
  subject text not null,
  msg_id text not null,
  body bytea not null,
  traceparent text,
  created_at timestamptz not null default now(),
  published_at timestamptz,
  stream text,
  stream_created text,
  stream_seq bigint
) with (autovacuum_vacuum_scale_factor = 0.02); -- every row is updated once and deleted: keep the head of its indexes short

create index outbox_unpublished on outbox (id) where published_at is null;
create index outbox_published on outbox (published_at) where published_at is not null;

alter table outbox enable row level security;
-- Whoever may write the rows of a change may say so; only the system reads what others said.
create policy outbox_emit on outbox for insert with check (true);
create policy outbox_read on outbox for select
  using ((select current_setting('app.scope', true)) = 'system');
create policy outbox_mark on outbox for update
  using ((select current_setting('app.scope', true)) = 'system')
  with check ((select current_setting('app.scope', true)) = 'system');
create policy outbox_clean on outbox for delete
  using ((select current_setting('app.scope', true)) = 'system');

-- The one relay that is active; `fence` grows with each change of holder.
create table relay_lease (
  single boolean primary key default true check (single),
  holder text,
  fence bigint not null default 0,
  expires_at timestamptz not null default '-infinity'
);
insert into relay_lease default values;

alter table relay_lease enable row level security;
create policy relay_lease_system on relay_lease
  using ((select current_setting('app.scope', true)) = 'system')
  with check ((select current_setting('app.scope', true)) = 'system');
