-- The subject of an event names its emitter first: `events.<service>.<organization>.<type>`. A lane is still an organization's.
drop index outbox_lanes;
alter table outbox drop column lane;

-- What waits here still, or may be published again, goes out under the name of the service whose schema this is.
update outbox set subject = 'events.' || replace(current_schema(), '_', '-') || substr(subject, length('events') + 1)
where subject ~ '^events\.[0-9a-f]{8}-';

alter table outbox add column lane text not null generated always as (
  case split_part(subject, '.', 1)
    when 'events' then 'events.' || split_part(subject, '.', 3)
    when 'audit' then subject
    else split_part(subject, '.', 1)
  end
) stored;
create index outbox_lanes on outbox (lane, id) where published_at is null;
