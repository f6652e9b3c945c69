-- Roles, schemas and privileges of every service, in the database this runs in. Safe to run again: it repairs and sets
-- the passwords again. PostgreSQL 15 or newer; as a superuser, or as an administrator who may create roles and schemas.
--
--   psql -v ON_ERROR_STOP=1 --single-transaction -v identity_owner_password=… -v identity_app_password=… … -f roles.sql
--
-- Variables: <schema>_owner_password and <schema>_app_password of identity, tenancy, audit, device_logs,
-- webhook_dispatcher and agent_release, audit_pruner_password and muster_owner_password. A SCRAM verifier may replace a password: then
-- no statement log shows it.
--
-- Per service:
--   muster_<schema>_owner   logs in for migrations; owns the schema and its tables, so row-level security does not bind it
--   muster_<schema>_app     logs in for the service; owns nothing, is a member of nothing
--   muster_<schema>_lookup  owns the few SECURITY DEFINER look-ups that come before a tenant is known; never logs in
-- for one duty
--   muster_audit_pruner     logs in for the retention worker alone: the only role that may delete audit rows; a member of
--                           nothing, and no role is a member of it. Audit's migrations grant its rights.
-- and over all of them muster_owner, for operators and backups.

-- psql fills in no variable between dollar quotes, so they travel as settings.
select count(set_config('muster.' || name, password, false)) as passwords
from (values
  ('identity_owner', :'identity_owner_password'),
  ('identity_app', :'identity_app_password'),
  ('tenancy_owner', :'tenancy_owner_password'),
  ('tenancy_app', :'tenancy_app_password'),
  ('audit_owner', :'audit_owner_password'),
  ('audit_app', :'audit_app_password'),
  ('audit_pruner', :'audit_pruner_password'),
  ('device_logs_owner', :'device_logs_owner_password'),
  ('device_logs_app', :'device_logs_app_password'),
  ('webhook_dispatcher_owner', :'webhook_dispatcher_owner_password'),
  ('webhook_dispatcher_app', :'webhook_dispatcher_app_password'),
  ('agent_release_owner', :'agent_release_owner_password'),
  ('agent_release_app', :'agent_release_app_password'),
  ('owner', :'muster_owner_password')
) as given (name, password);

do $roles$
declare
  services constant text[] := array['identity', 'tenancy', 'audit', 'device_logs', 'webhook_dispatcher', 'agent_release'];
  -- <schema>_<duty>
  duties constant text[] := array['audit_pruner'];
  roles constant text[] := array['muster_owner'] || array(select 'muster_' || d from unnest(duties) d)
    || array(select format('muster_%s_%s', s, k) from unnest(services) s, unnest(array['owner', 'app', 'lookup']) k);
  superuser constant boolean := (select rolsuper from pg_roles where rolname = current_user);
  schema text;
  routine regprocedure;
  owner text;
  app text;
  lookup text;
  role text;
  duty text;
  held record;
begin
  perform set_config('client_min_messages', 'warning', true);
  execute format('revoke all on database %I from public', current_database());
  revoke all on schema public from public;
  -- Large objects belong to no schema and know no row-level security: a service could keep and fill them without bound.
  if superuser then
    for routine in
      select oid::regprocedure from pg_proc
      where pronamespace = 'pg_catalog'::regnamespace and (proname like 'lo\_%' or proname in ('loread', 'lowrite'))
    loop
      execute format('revoke execute on function %s from public', routine);
    end loop;
  end if;

  foreach role in array roles loop
    if not exists (select from pg_roles where rolname = role) then
      execute format('create role %I nologin', role);
    end if;
    -- Named only where they differ: an administrator who is no superuser may not even repeat them.
    if exists (select from pg_roles where rolname = role and (rolsuper or rolbypassrls or rolreplication)) then
      execute format('alter role %I nosuperuser nobypassrls noreplication', role);
    end if;
    execute format('alter role %I nocreaterole nocreatedb inherit', role);
    -- Only a member may transfer objects to a role or set its defaults; the membership is revoked at the end.
    if not superuser then
      execute format('grant %I to current_user', role);
    end if;
  end loop;

  foreach schema in array services loop
    owner := format('muster_%s_owner', schema);
    app := format('muster_%s_app', schema);
    lookup := format('muster_%s_lookup', schema);

    execute format('alter role %I login password %L', owner, current_setting('muster.' || schema || '_owner'));
    execute format('alter role %I login password %L', app, current_setting('muster.' || schema || '_app'));
    execute format('alter role %I nologin', lookup);

    -- The service's role is a member of nothing, whatever was granted meanwhile.
    for held in
      select g.rolname as granted, b.rolname as grantor
      from pg_auth_members m
      join pg_roles g on g.oid = m.roleid
      join pg_roles b on b.oid = m.grantor
      where m.member = app::regrole
    loop
      execute format('revoke %I from %I granted by %I', held.granted, app, held.grantor);
    end loop;
    execute format('grant %I to %I', lookup, owner);
    execute format('grant %I to muster_owner', owner);

    execute format('grant connect on database %I to %I, %I', current_database(), owner, app);
    execute format('create schema if not exists %I authorization %I', schema, owner);
    execute format('alter schema %I owner to %I', schema, owner);
    execute format('revoke all on schema %I from public, %I', schema, app);
    execute format('grant usage on schema %I to %I', schema, app);
    -- CREATE, because PostgreSQL lets a function belong only to a role that may create in its schema.
    execute format('grant usage, create on schema %I to %I', schema, lookup);

    execute format('alter default privileges for role %I in schema %I grant select, insert, update, delete on tables to %I',
      owner, schema, app);
    execute format('alter default privileges for role %I in schema %I grant usage on sequences to %I', owner, schema, app);
    execute format('alter default privileges for role %I revoke execute on functions from public', owner);
    execute format('alter default privileges for role %I revoke execute on functions from public', lookup);

    foreach role in array array[owner, app] loop
      execute format('alter role %I in database %I set search_path = %I', role, current_database(), schema);
      execute format('alter role %I set idle_in_transaction_session_timeout = %L', role, '30s');
    end loop;
  end loop;

  foreach duty in array duties loop
    role := 'muster_' || duty;
    schema := regexp_replace(duty, '_[a-z]+$', '');
    execute format('alter role %I login password %L', role, current_setting('muster.' || duty));
    for held in
      select g.rolname as granted, e.rolname as member, b.rolname as grantor
      from pg_auth_members m
      join pg_roles g on g.oid = m.roleid
      join pg_roles e on e.oid = m.member
      join pg_roles b on b.oid = m.grantor
      where (m.member = role::regrole or m.roleid = role::regrole) and e.rolname <> current_user
    loop
      execute format('revoke %I from %I granted by %I', held.granted, held.member, held.grantor);
    end loop;
    execute format('grant connect on database %I to %I', current_database(), role);
    execute format('revoke all on schema %I from %I', schema, role);
    execute format('grant usage on schema %I to %I', schema, role);
    execute format('alter role %I in database %I set search_path = %I', role, current_database(), schema);
    execute format('alter role %I set idle_in_transaction_session_timeout = %L', role, '30s');
  end loop;

  execute format('alter role muster_owner login password %L', current_setting('muster.owner'));
  execute format('grant connect on database %I to muster_owner', current_database());
  execute format('alter role muster_owner in database %I set search_path = %s', current_database(),
    (select string_agg(quote_ident(s), ', ' order by ordinality) from unnest(services) with ordinality as t (s, ordinality)));
  alter role muster_owner set idle_in_transaction_session_timeout = '30s';

  if not superuser then
    foreach role in array roles loop
      execute format('revoke %I from current_user', role);
    end loop;
  end if;
end
$roles$;

select count(set_config('muster.' || name, '', false)) as passwords_forgotten
from unnest(array['owner', 'audit_pruner']
  || array(select s || '_' || kind
           from unnest(array['identity', 'tenancy', 'audit', 'device_logs', 'webhook_dispatcher', 'agent_release']) s,
                unnest(array['owner', 'app']) kind)) as name;
