/** Kinds of what needs attention, the worst first: what fails, then what ends soon, then what waits for a decision. */
export const attentionKinds = [
  "rollout",
  "webhook",
  "audit_stream",
  "sso_provider",
  "directory",
  "certificate",
  "api_key",
  "device",
] as const;

export type AttentionKind = (typeof attentionKinds)[number];
