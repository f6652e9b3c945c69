export const categories = [
  "authentication",
  "device",
  "automation",
  "policy",
  "alert",
  "compliance",
  "organization",
  "system",
] as const;

export const results = ["success", "failure", "denied"] as const;
