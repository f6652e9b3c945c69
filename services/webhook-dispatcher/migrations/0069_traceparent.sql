-- The trace that an event came in, so that each attempt to deliver it stands in that trace. Null where none was sampled.
alter table webhook_events add column traceparent text;
