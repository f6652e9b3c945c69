import { type AreaRows, open, rows, system } from "./row.ts";

/** The platform itself: health, documents, agent versions. */
export const platformRows: AreaRows = {
  interface: [
    ...rows(2, open, "GET {base}/health"),
    ...rows(null, { permission: "platform:admin", mfa: true }, "POST /agent-versions/promote"),
    ...rows(null, { permission: "platform:admin", mfa: true, scopes: system }, "POST /agent-versions/sync-:source"),
  ],
  additional: [
    ...rows(
      2,
      open,
      `
    GET /openapi.json
    GET {base}/.well-known/jwks.json`,
    ),
  ],
};
