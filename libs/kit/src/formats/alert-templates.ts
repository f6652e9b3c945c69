/** Ready-made searches of audit alerts. */
export const alertTemplates = ["new-administrator", "sso-disabled", "key-with-all-scopes", "many-refusals"] as const;

export type AlertTemplate = (typeof alertTemplates)[number];
