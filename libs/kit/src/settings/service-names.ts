/** The services behind the gateway, in the order of their start. */
export const serviceNames = [
  "identity",
  "tenancy",
  "audit",
  "device-logs",
  "webhook-dispatcher",
  "agent-release",
] as const;
export type ServiceName = (typeof serviceNames)[number];
