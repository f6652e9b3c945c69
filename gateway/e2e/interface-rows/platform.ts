import { type AreaRows, above, open, rows, system } from "./row.ts";

/** The platform itself: health, documents, agent versions. */
export const platformRows: AreaRows = {
  interface: [
    ...rows(2, open, "GET {base}/health"),
    ...rows(16, { permission: "platform:admin", mfa: true }, "POST /agent-versions/promote"),
    ...rows(16, { permission: "platform:admin", mfa: true, scopes: system }, "POST /agent-versions/sync-:source"),
  ],
  additional: [
    ...rows(
      2,
      open,
      `
    GET /openapi.json
    GET {base}/.well-known/jwks.json`,
    ),
    ...rows(18, {}, "GET /names"),
    ...rows(
      46,
      {},
      `
    GET /saved-views
    GET /saved-views/:id
    POST /saved-views
    PATCH /saved-views/:id
    DELETE /saved-views/:id`,
    ),
    ...rows(18, {}, "GET /agents/downloads"),
    ...rows(18, { permission: "platform:admin", scopes: system }, "GET /platform/status"),
    ...rows(46, { permission: "platform:admin", scopes: system }, "GET /platform/log-usage"),
    ...rows(
      46,
      { permission: "platform:admin", scopes: system },
      `
    GET /agent-versions/rollout-templates
    GET /agent-versions/rollout-templates/:id`,
    ),
    ...rows(
      46,
      { permission: "platform:admin", mfa: true, scopes: system },
      `
    POST /agent-versions/rollout-templates
    PUT /agent-versions/rollout-templates/:id
    DELETE /agent-versions/rollout-templates/:id`,
    ),
    ...rows(
      16,
      { permission: "agent-releases:read" },
      `
    GET /agent-versions
    GET /agent-versions/rollouts
    GET /agent-versions/rollouts/:id
    GET /agent-versions/rollouts/:id/progress
    GET /agent-versions/rollouts/:id/devices`,
    ),
    ...rows(
      16,
      { permission: "platform:admin", mfa: true, scopes: system },
      `
    POST /agent-versions
    POST /agent-versions/:id/yank
    DELETE /agent-versions/:id`,
    ),
    ...rows(
      46,
      {
        permission: { system: "platform:admin", partner: "partner:policy", organization: "partner:policy" },
        mfa: true,
        scopes: above,
      },
      `
    POST /agent-versions/rollouts
    POST /agent-versions/rollouts/preview
    PATCH /agent-versions/rollouts/:id
    POST /agent-versions/rollouts/:id/pause
    POST /agent-versions/rollouts/:id/resume
    POST /agent-versions/rollouts/:id/complete
    POST /agent-versions/rollouts/:id/cancel`,
    ),
  ],
};
