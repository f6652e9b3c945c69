import { type Me, whyNot } from "../rules/why-not.ts";
import type { ListPagePath } from "./links.ts";

/** A page of a section; `needs` is the operation that it shows, `scope` whose users alone have no other page for it. */
export type Tab = { to: ListPagePath; title: string; needs: string; scope?: Me["scope"] };

/** Pages that belong together, in the order of their tabs; the section is named after the first one. */
export const sections = {
  overview: [{ to: "/", title: "Overview", needs: "GET /api/v1/auth/me" }],
  devices: [
    { to: "/devices", title: "Devices", needs: "GET /api/v1/devices" },
    { to: "/groups", title: "Groups", needs: "GET /api/v1/device-groups" },
  ],
  audit: [
    { to: "/audit", title: "Audit", needs: "GET /api/v1/audit-logs/logs" },
    { to: "/audit/reports", title: "Reports", needs: "GET /api/v1/audit-logs/reports/categories" },
    { to: "/audit/alerts", title: "Alerts", needs: "GET /api/v1/audit-logs/alerts" },
    { to: "/audit/exports", title: "Exports", needs: "GET /api/v1/audit-logs/exports" },
    { to: "/audit/retention", title: "Retention", needs: "GET /api/v1/audit-logs/retention" },
  ],
  streams: [{ to: "/audit/streams", title: "Streams", needs: "GET /api/v1/audit-logs/streams" }],
  directory: [{ to: "/settings/directories", title: "Directories", needs: "GET /api/v1/directories" }],
  webhooks: [
    { to: "/webhooks", title: "Webhooks", needs: "GET /api/v1/webhooks" },
    { to: "/webhooks/event-types", title: "Event types", needs: "GET /api/v1/webhooks/event-types" },
    { to: "/webhooks/portal-links", title: "Portal links", needs: "GET /api/v1/webhooks/portal-links" },
  ],
  keys: [
    { to: "/keys", title: "API keys", needs: "GET /api/v1/api-keys" },
    { to: "/keys/principals", title: "Service principals", needs: "GET /api/v1/service-principals" },
    { to: "/keys/enrollment", title: "Enrollment keys", needs: "GET /api/v1/enrollment-keys" },
  ],
  users: [
    { to: "/people", title: "People", needs: "GET /api/v1/users" },
    { to: "/roles", title: "Roles", needs: "GET /api/v1/roles" },
  ],
  tenants: [
    { to: "/orgs", title: "Organizations", needs: "GET /api/v1/orgs/organizations" },
    { to: "/sites", title: "Sites", needs: "GET /api/v1/orgs/sites" },
    { to: "/partners", title: "Partners", needs: "GET /api/v1/orgs/partners" },
  ],
  releases: [
    { to: "/releases", title: "Releases", needs: "GET /api/v1/agent-versions" },
    { to: "/releases/rollouts", title: "Rollouts", needs: "GET /api/v1/agent-versions/rollouts" },
    { to: "/releases/templates", title: "Templates", needs: "GET /api/v1/agent-versions/rollout-templates" },
  ],
  signIn: [
    { to: "/settings/sso", title: "Single sign-on", needs: "GET /api/v1/sso/providers" },
    { to: "/settings/domains", title: "Domains", needs: "GET /api/v1/sso/domains" },
    { to: "/settings/sign-in", title: "Policy", needs: "GET /api/v1/orgs/organizations/{id}/sign-in-policy" },
  ],
  settings: [
    { to: "/settings/partner", title: "Partner", needs: "GET /api/v1/orgs/partners/me" },
    { to: "/settings/branding", title: "Branding", needs: "GET /api/v1/partners/me/login-branding" },
    {
      to: "/settings/organization",
      title: "Organization",
      needs: "GET /api/v1/orgs/organizations/{id}/agent-updates",
      scope: "organization",
    },
  ],
  operations: [{ to: "/operations", title: "Operations", needs: "GET /api/v1/platform/status" }],
} as const satisfies Record<string, readonly [Tab, ...Tab[]]>;

/** Pages whose lists have another name in the API than in the address. */
const pagesOfLists: Readonly<Record<string, ListPagePath | undefined>> = {
  "agent-versions": "/releases",
  "api-keys": "/keys",
  "audit-alerts": "/audit/alerts",
  "audit-exports": "/audit/exports",
  "audit-logs": "/audit",
  "audit-streams": "/audit/streams",
  "device-groups": "/groups",
  directories: "/settings/directories",
  "enrollment-keys": "/keys/enrollment",
  organizations: "/orgs",
  rollouts: "/releases/rollouts",
  "service-principals": "/keys/principals",
  "sso-domains": "/settings/domains",
  "sso-providers": "/settings/sso",
  users: "/people",
};

/** The page of a list, by the API's name of the list; the overview for a list that has no page. */
export function pageOfList(list: string): Tab {
  const path = pagesOfLists[list] ?? `/${list}`;
  const all: readonly Tab[] = Object.values(sections).flat();
  return all.find((tab) => tab.to === path) ?? sections.overview[0];
}

export type SectionName = keyof typeof sections;

/** The pages of a section that would show something to this user. */
export function tabsFor(me: Me, section: SectionName): readonly Tab[] {
  const tabs: readonly Tab[] = sections[section];
  return tabs.filter(({ needs, scope = me.scope }) => scope === me.scope && whyNot(me, needs) === null);
}
