-- When deliveries are sent again: null is the standard schedule, "extended" the one of days, else {delaysSeconds, jitterPercent}.
ALTER TABLE webhooks ADD COLUMN retry_schedule jsonb;
