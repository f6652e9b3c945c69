-- Whose messages these are: order is kept within a lane, and lanes take turns when very many wait. Events belong to an
-- organization, audit rows to a partition of chains; whatever else a service says has one order.
alter table outbox add column lane text not null generated always as (
  case split_part(subject, '.', 1)
    when 'events' then 'events.' || split_part(subject, '.', 2)
    when 'audit' then subject
    else split_part(subject, '.', 1)
  end
) stored;

create index outbox_lanes on outbox (lane, id) where published_at is null;
