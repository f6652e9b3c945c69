-- What every service's schema holds: how row-level policies are written, the outbox, jobs, dead letters and stored replies.

-- The conditions of row-level policies, written here and nowhere else; libs/testing/src/policies.ts compares pg_policies with them.
-- A setting is read by a sub-select, so that it is read once for a statement and not once for a row.
create function policy_condition(reach text) returns text
language plpgsql immutable as $$
declare
  is_system constant text := $q$(select current_setting('app.scope', true)) = 'system'$q$;
  -- Rows of an organization: its people's, its partner's within their grants, the system's.
  of_organization constant text := is_system || $q$
    or ((select current_setting('app.scope', true)) = 'partner'
        and partner_id = (select nullif(current_setting('app.partner_id', true), '')::uuid)
        and ((select current_setting('app.org_access', true)) = 'all'
             or org_id = any ((select nullif(current_setting('app.org_ids', true), '')::uuid[])::uuid[])))
    or ((select current_setting('app.scope', true)) = 'organization'
        and org_id = (select nullif(current_setting('app.org_id', true), '')::uuid))$q$;
begin
  return case reach
    when 'everyone' then 'true'
    when 'system' then is_system
    when 'organization' then of_organization
    -- Rows without an organization are the partner's own, for all of its people.
    when 'tenant' then replace(of_organization, 'and ((select current_setting(''app.org_access''',
                               'and (org_id is null or (select current_setting(''app.org_access''')
    -- Narrowed to the sites of people who are restricted to some.
    when 'site' then format('(%s) and (%s)', of_organization,
      $q$(select coalesce(current_setting('app.site_ids', true), '')) = ''
         or site_id = any ((select nullif(current_setting('app.site_ids', true), '')::uuid[])::uuid[])$q$)
    -- The acting person's alone. (The actor of a service is no UUID.)
    when 'person' then $q$(select current_setting('app.scope', true)) <> ''
      and user_id::text = (select current_setting('app.actor_id', true))$q$
  end;
end $$;

-- Makes a policy of one of these conditions: `call policy('users_tenant', 'users', 'all', 'tenant')`.
create procedure policy(policy_name text, on_table regclass, command text, reach text, to_role text default 'public')
language plpgsql as $$
begin
  if policy_condition(reach) is null then
    raise exception 'no row-level condition is called %', reach;
  end if;
  execute format('create policy %I on %s for %s to %s %s (%s)', policy_name, on_table, command, to_role,
    case command when 'insert' then 'with check' else 'using' end, policy_condition(reach));
end $$;

revoke all on function policy_condition(text) from public;
revoke all on procedure policy(text, regclass, text, text, text) from public;

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
  stream_seq bigint,
  -- Whose messages these are: order is kept within a lane, and lanes take turns when very many wait. Events belong to an
  -- organization, audit rows to a partition of chains; whatever else a service says has one order.
  lane text not null generated always as (
    case split_part(subject, '.', 1)
      when 'events' then 'events.' || split_part(subject, '.', 2)
      when 'audit' then subject
      else split_part(subject, '.', 1)
    end
  ) stored
) with (autovacuum_vacuum_scale_factor = 0.02); -- every row is updated once and deleted: keep the head of its indexes short

create index outbox_unpublished on outbox (id) where published_at is null;
create index outbox_lanes on outbox (lane, id) where published_at is null;
create index outbox_published on outbox (published_at) where published_at is not null;

alter table outbox enable row level security;
-- Whoever may write the rows of a change may say so; only the system reads what others said.
call policy('outbox_emit', 'outbox', 'insert', 'everyone');
call policy('outbox_read', 'outbox', 'select', 'system');
call policy('outbox_mark', 'outbox', 'update', 'system');
call policy('outbox_clean', 'outbox', 'delete', 'system');

-- The one relay that is active; `fence` grows with each change of holder.
create table relay_lease (
  single boolean primary key default true check (single),
  holder text,
  fence bigint not null default 0,
  expires_at timestamptz not null default '-infinity'
);
insert into relay_lease default values;

alter table relay_lease enable row level security;
call policy('relay_lease_system', 'relay_lease', 'all', 'system');

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
call policy('job_system', 'job', 'all', 'system');

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
call policy('dead_letter_system', 'dead_letter', 'all', 'system');

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
  using (caller = (select nullif(current_setting('app.actor_id', true), '')));
-- The system removes what counts no longer, and sees nothing younger.
create policy idempotency_clean on idempotency
  using ((select current_setting('app.scope', true)) = 'system' and created_at < now() - interval '24 hours')
  with check (false);
