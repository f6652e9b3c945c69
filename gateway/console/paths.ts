/**
 * First path segments of the console's pages, by the entry that shows them. The build writes them to dist/paths.json,
 * and the gateway answers no other path with HTML. None may be a path of the API (`api`, `docs`, `health`, `metrics`).
 */
export const paths = {
  app: [
    "",
    "welcome",
    "devices",
    "groups",
    "audit",
    "webhooks",
    "keys",
    "people",
    "roles",
    "orgs",
    "sites",
    "partners",
    "releases",
    "settings",
    "operations",
    "profile",
    "activate",
  ],
  signIn: ["login", "reset-password", "accept-invite", "unsubscribe"],
  portal: ["portal"],
} as const;
