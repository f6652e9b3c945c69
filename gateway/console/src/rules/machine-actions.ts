/** What programs write by themselves, day and night. */
export const machineActions = [
  "user.login",
  "user.logout",
  "agent.logs.submit",
  "agent.eventlogs.submit",
  "agent.token.rotate",
] as const;
