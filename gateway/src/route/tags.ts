/**
 * Groups of operations and their descriptions in the OpenAPI document. A route whose tag has no entry does not compile.
 */
export const tagSentences = {
  Sessions: "Sign in, second factors, passkeys, passwords, and the caller's own sessions.",
  "Single sign-on": "Identity providers of organizations and partners, sign-in through them, and linked identities.",
  Directories: "Directories that provision users and groups by SCIM 2.0, their tokens, and groups that are roles.",
  SCIM: "Calls of a directory: users and groups (RFC 7643, 7644).",
  Partners: "Tenants that manage organizations. Only platform administrators create and delete them.",
  Organizations: "Customers of a partner. Every device, key and webhook belongs to one organization.",
  Sites: "Locations of an organization.",
  Users: "Accounts of people: invitations, roles, and access to organizations and sites.",
  Roles: "Sets of permissions, assigned to users.",
  "API keys": "Credentials of programs, limited by scopes, addresses and an hourly rate.",
  "Service principals": "Identities that own one API key and outlive the user who created them.",
  "Enrollment keys": "Short-lived secrets by which agents join an organization.",
  Devices: "Managed machines: facts, trust, updates, removal.",
  "Device groups": "Named sets of devices of one organization.",
  Agents: "Calls of the agent on a device: enrollment, heartbeats, logs, channel.",
  "Agent releases": "Versions of the agent, their rollout to devices, and pins and maintenance windows.",
  "Device logs": "Stored logs and events of devices.",
  "Live event logs": "Event logs read on the device at the moment of the request.",
  "Audit logs": "The tamper-evident record of every change: search, export, reports, retention, streams, proofs.",
  "Saved views": "Named queries of lists, of a user or shared in a tenant.",
  Webhooks: "URLs that receive events over HTTPS, their deliveries, retries and replays.",
  Events: "Events that other parts of the platform emit.",
  Platform: "Health, this document, and the public keys of access tokens.",
} as const satisfies Record<string, string>;

export type Tag = keyof typeof tagSentences;
