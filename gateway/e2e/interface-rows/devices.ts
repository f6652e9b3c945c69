import { type AreaRows, open, rows } from "./row.ts";

/** Devices, device groups, agents and what they log. */
export const deviceRows: AreaRows = {
  interface: [
    ...rows(
      7,
      { auth: "agent" },
      `
    POST /agents/:id/logs
    PUT /agents/:id/eventlogs`,
    ),
    ...rows(
      7,
      { permission: "devices:read" },
      `
    GET /devices/:id/diagnostic-logs
    GET /devices/:id/eventlogs
    GET /system-tools/devices/:deviceId/eventlogs
    GET /system-tools/devices/:deviceId/eventlogs/:name
    GET /system-tools/devices/:deviceId/eventlogs/:name/events
    GET /system-tools/devices/:deviceId/eventlogs/:name/events/:recordId`,
    ),
    ...rows(3, { permission: "devices:write" }, "POST /devices/:id/auto-update"),
  ],
  additional: [
    ...rows(
      3,
      { permission: "devices:read" },
      `
    GET /attention
    GET /devices
    GET /devices/summary
    GET /devices/changes
    GET /devices/metrics
    GET /devices/history
    GET /devices/:id/metrics
    GET /devices/bulk-jobs
    GET /devices/bulk-jobs/:id
    GET /devices/:id
    GET /device-groups
    GET /device-groups/:id`,
    ),
    ...rows(
      3,
      { permission: "devices:write" },
      `
    PATCH /devices/:id
    POST /devices/bulk-jobs
    DELETE /devices/bulk-jobs/:id
    POST /devices/bulk-update
    POST /devices/bulk-review
    POST /device-groups
    PATCH /device-groups/:id
    POST /device-groups/:id/devices
    DELETE /device-groups/:id/devices
    DELETE /device-groups/:id/devices/:deviceId`,
    ),
    ...rows(
      3,
      { permission: "devices:delete" },
      `
    DELETE /devices/:id
    POST /devices/bulk-decommission
    POST /devices/:id/reject
    DELETE /device-groups/:id`,
    ),
    ...rows(7, open, "POST /agents/enroll"),
    ...rows(
      16,
      open,
      `
    GET /agents/download/:os/:arch
    GET /agents/download/:os/:arch/manifest`,
    ),
    ...rows(
      7,
      { auth: "agent" },
      `
    GET /agents/:id/channel
    POST /agents/:id/otlp/v1/logs
    POST /agents/:id/heartbeat
    POST /agents/:id/rotate-token`,
    ),
    ...rows(7, { permission: "devices:write" }, "POST /devices/:id/approve"),
    ...rows(16, { permission: "devices:read" }, "GET /devices/:id/update-decision"),
    ...rows(16, { permission: "devices:write" }, "POST /devices/:id/update"),
    ...rows(
      7,
      { permission: "devices:read" },
      `
    GET /devices/:id/system-tools/eventlogs
    GET /devices/:id/system-tools/eventlogs/:name
    GET /devices/:id/system-tools/eventlogs/:name/events
    GET /devices/:id/system-tools/eventlogs/:name/events/:recordId
    GET /devices/:id/eventlogs/:name
    GET /devices/:id/eventlogs/:name/events
    GET /devices/:id/eventlogs/:name/events/:recordId
    GET /devices/:id/eventlogs/:name/follow`,
    ),
  ],
};
