import { type AreaRows, open, rows } from "./row.ts";

/** Webhooks and events. */
export const webhookRows: AreaRows = {
  interface: [
    ...rows(
      8,
      { permission: "webhooks:read" },
      `
    GET /webhooks
    GET /webhooks/:id
    GET /webhooks/:id/deliveries`,
    ),
    ...rows(
      8,
      { permission: "webhooks:write" },
      `
    POST /webhooks
    PATCH /webhooks/:id
    DELETE /webhooks/:id
    POST /webhooks/:id/test
    POST /webhooks/:id/retry/:deliveryId`,
    ),
  ],
  additional: [
    ...rows(
      8,
      { permission: "webhooks:read" },
      `
    GET /webhooks/event-types
    GET /webhooks/all
    GET /webhooks/:id/stats
    GET /webhooks/:id/deliveries/:deliveryId
    GET /webhooks/:id/replays
    GET /webhooks/:id/replays/:replayId
    GET /webhooks/dead-letters
    GET /webhooks/portal-links
    GET /events
    GET /events/:id
    GET /events/:id/deliveries`,
    ),
    ...rows(
      8,
      { permission: "webhooks:write" },
      `
    POST /webhooks/portal-links
    DELETE /webhooks/portal-links/:id
    POST /webhooks/event-types
    PATCH /webhooks/event-types
    POST /webhooks/:id/rotate-secret
    POST /webhooks/:id/rotate-signing-key
    POST /webhooks/:id/deliveries/:deliveryId/resend
    POST /webhooks/:id/replay
    DELETE /webhooks/:id/replays/:replayId
    POST /webhooks/dead-letters/:id/requeue`,
    ),
    ...rows(8, { permission: "webhooks:write", mfa: true }, "POST /webhooks/:id/reveal-secret"),
    ...rows(
      8,
      open,
      `
    POST /webhooks/portal-links/:id/exchange
    GET /webhooks/portal-links/:id/page`,
    ),
    ...rows(8, { permission: "events:write" }, "POST /events"),
    ...rows(8, open, "GET {base}/.well-known/webhooks/:webhookId/jwks.json"),
  ],
};
