// A day of deliveries of the example fleet's webhooks, which no API takes: more by day than by night. The one whose
// receiver fails has done so for some hours.

const failingSince = "now() - interval '161 minutes'";
const isFailed = `w.name = 'ERP sync' AND at > ${failingSince}`;

/** The deliveries with their events, and what their webhooks count of them. */
const statement = `
  WITH past AS MATERIALIZED (
    SELECT gen_random_uuid() AS id, gen_random_uuid() AS event_id, w.id AS webhook_id, w.org_id, w.partner_id,
      date_trunc('milliseconds', at) AS at, ${isFailed} AS failed,
      CASE WHEN random() < 0.6 THEN 'device.online' ELSE 'device.offline' END AS event,
      (CASE WHEN w.name LIKE '%ager' THEN 900 ELSE 38 END + 60 * random() * random() + 20 * sin(n / 9.0))::int AS took_ms
    FROM webhooks w
    CROSS JOIN generate_series(1, 420) n
    CROSS JOIN LATERAL (SELECT now() - (n * 205 + random() * 180) * interval '1 second' AS at) moment
    WHERE w.status = 'active' AND random() < (0.5 - 0.4 * cos(extract(hour FROM at) / 24 * 2 * pi())) * CASE w.name
      WHEN 'On-call pager' THEN 0.2 WHEN 'Stock display' THEN 0.6 ELSE 1 END
  ), events AS (
    INSERT INTO webhook_events (org_id, id, occurred_at, partner_id, type, body)
    SELECT org_id, event_id, at, partner_id, event,
      json_build_object('id', event_id, 'type', event, 'timestamp', at, 'orgId', org_id, 'data', json_build_object())::text
    FROM past
  ), deliveries AS (
    INSERT INTO webhook_deliveries (id, created_at, webhook_id, org_id, partner_id, event_id, event, status, attempt,
      delivered_at, finished_at, response_status, response_time_ms)
    SELECT id, at, webhook_id, org_id, partner_id, event_id, event, CASE WHEN failed THEN 'failed' ELSE 'delivered' END,
      CASE WHEN failed THEN 6 ELSE 1 END, CASE WHEN failed THEN NULL ELSE at + took_ms * interval '1 millisecond' END,
      at + took_ms * interval '1 millisecond', CASE WHEN failed THEN 500 ELSE 204 END, took_ms
    FROM past
  ), counted AS (
    SELECT webhook_id, count(*) FILTER (WHERE NOT failed) AS good, count(*) FILTER (WHERE failed) AS bad
    FROM past GROUP BY webhook_id
  )
  UPDATE webhook_endpoint_state s SET
    success_count = success_count + c.good, failure_count = failure_count + c.bad,
    failing_since = CASE WHEN c.bad > 0 THEN ${failingSince} ELSE failing_since END,
    failed_attempts = CASE WHEN c.bad > 0 THEN failed_attempts + c.bad * 6 ELSE failed_attempts END,
    last_success_at = CASE WHEN c.bad > 0 THEN ${failingSince} ELSE last_success_at END
  FROM counted c WHERE s.webhook_id = c.webhook_id`;

/** One that is paused had its deliveries before. */
const paused = `
  UPDATE webhook_endpoint_state s SET success_count = 1840, last_success_at = now() - interval '6 days',
    last_delivery_at = now() - interval '6 days'
  FROM webhooks w WHERE w.id = s.webhook_id AND w.status = 'disabled'`;

/** Writes them over a connection as an administrator of the database. */
export async function pastDeliveries(client) {
  await client.query("SET search_path = webhook_dispatcher");
  await client.query("SELECT setseed(0.42)");
  await client.query(statement);
  await client.query(paused);
}
