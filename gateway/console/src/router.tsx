import {
  type AsyncRouteComponent,
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  notFound,
} from "@tanstack/react-router";
import type { ReactNode } from "react";
import { Loading } from "./parts/states.tsx";
import type { Filters } from "./parts/use-filters.ts";
import { isId } from "./rules/ids.ts";
import { parseSearch, stringifySearch } from "./rules/search-params.ts";
import { NotFound } from "./shell/not-found.tsx";
import { PageCrash } from "./shell/page-crash.tsx";
import { Shell } from "./shell/shell.tsx";

// Filters are the API's, and their values texts: each page reads those that it knows (parts/links.ts).
const validateSearch = (search: Record<string, unknown>): Filters => search as Filters;
const root = createRootRoute({ component: Shell, notFoundComponent: NotFound, validateSearch });

/** A page in a separate file, which is loaded when the page is first opened. */
const page = <P extends string, Name extends string>(
  path: P,
  load: () => Promise<Record<Name, () => ReactNode>>,
  name: Name,
) => {
  const component = lazyRouteComponent(async () => ({ default: (await load())[name] }));
  return createRoute({
    getParentRoute: () => root,
    path,
    component,
    // A path that only looks like a record's (/webhooks/dead-letters) leads nowhere.
    beforeLoad: ({ params }) => {
      if (!Object.values<unknown>(params).every((value) => isId(String(value)))) throw notFound();
    },
  });
};

const routeTree = root.addChildren([
  page("/", () => import("./pages/overview/overview.tsx"), "Overview"),
  page("/welcome", () => import("./pages/welcome/welcome.tsx"), "Welcome"),
  page("/devices", () => import("./pages/devices/devices.tsx"), "Devices"),
  page("/devices/add", () => import("./pages/devices/add-devices.tsx"), "AddDevices"),
  page("/devices/bulk-jobs/$id", () => import("./pages/devices/bulk-job.tsx"), "BulkJobPage"),
  page("/devices/$id", () => import("./pages/devices/device.tsx"), "DevicePage"),
  page("/devices/$id/live", () => import("./pages/devices/live-logs.tsx"), "LiveLogs"),
  page("/audit", () => import("./pages/audit/audit.tsx"), "Audit"),
  page("/audit/reports", () => import("./pages/audit/reports.tsx"), "Reports"),
  page("/audit/streams", () => import("./pages/audit/streams.tsx"), "Streams"),
  page("/audit/alerts", () => import("./pages/audit/alerts.tsx"), "Alerts"),
  page("/audit/exports", () => import("./pages/audit/exports.tsx"), "Exports"),
  page("/audit/retention", () => import("./pages/audit/retention.tsx"), "Retention"),
  page("/audit/$id", () => import("./pages/audit/audit-row.tsx"), "AuditRow"),
  page("/webhooks", () => import("./pages/webhooks/webhooks.tsx"), "Webhooks"),
  page("/webhooks/event-types", () => import("./pages/webhooks/event-types.tsx"), "EventTypesPage"),
  page("/webhooks/portal-links", () => import("./pages/webhooks/portal-links.tsx"), "PortalLinks"),
  page("/webhooks/$id", () => import("./pages/webhooks/webhook.tsx"), "WebhookPage"),
  page("/webhooks/$id/deliveries/$deliveryId", () => import("./pages/webhooks/delivery.tsx"), "DeliveryPage"),
  page("/keys", () => import("./pages/keys/keys.tsx"), "Keys"),
  page("/keys/enrollment", () => import("./pages/keys/enrollment-keys.tsx"), "EnrollmentKeys"),
  page("/groups", () => import("./pages/groups/groups.tsx"), "Groups"),
  page("/keys/principals", () => import("./pages/keys/principals.tsx"), "Principals"),
  page("/people", () => import("./pages/users/users.tsx"), "Users"),
  page("/people/$id", () => import("./pages/users/user.tsx"), "UserPage"),
  page("/roles", () => import("./pages/roles/roles.tsx"), "Roles"),
  page("/roles/$id", () => import("./pages/roles/role.tsx"), "RolePage"),
  page("/orgs", () => import("./pages/orgs/orgs.tsx"), "Organizations"),
  page("/orgs/$id", () => import("./pages/orgs/org.tsx"), "OrganizationPage"),
  page("/sites", () => import("./pages/sites/sites.tsx"), "Sites"),
  page("/sites/$id", () => import("./pages/sites/site.tsx"), "SitePage"),
  page("/partners", () => import("./pages/partners/partners.tsx"), "Partners"),
  page("/partners/$id", () => import("./pages/partners/partner.tsx"), "PartnerPage"),
  page("/releases", () => import("./pages/releases/releases.tsx"), "Releases"),
  page("/releases/rollouts", () => import("./pages/releases/rollouts.tsx"), "Rollouts"),
  page("/releases/templates", () => import("./pages/releases/templates.tsx"), "Templates"),
  page("/releases/new-rollout", () => import("./pages/releases/new-rollout.tsx"), "NewRollout"),
  page("/releases/rollouts/$id", () => import("./pages/releases/rollout.tsx"), "RolloutPage"),
  page("/settings/directories", () => import("./pages/directories/directories.tsx"), "Directories"),
  page("/settings/directories/$id", () => import("./pages/directories/directory.tsx"), "DirectoryPage"),
  page("/settings/sso", () => import("./pages/settings/sso.tsx"), "SingleSignOn"),
  page("/settings/sso/$id", () => import("./pages/settings/provider.tsx"), "ProviderPage"),
  page("/settings/domains", () => import("./pages/settings/domains.tsx"), "Domains"),
  page("/settings/sign-in", () => import("./pages/settings/sign-in-policy.tsx"), "SignInPolicy"),
  page("/settings/partner", () => import("./pages/settings/own-partner.tsx"), "OwnPartner"),
  page("/settings/branding", () => import("./pages/settings/branding.tsx"), "Branding"),
  page("/settings/organization", () => import("./pages/settings/own-organization.tsx"), "OwnOrganization"),
  page("/operations", () => import("./pages/operations/operations.tsx"), "Operations"),
  page("/activate", () => import("./pages/activate/activate.tsx"), "Activate"),
  page("/profile", () => import("./pages/profile/profile.tsx"), "Profile"),
]);

export const router = createRouter({
  routeTree,
  parseSearch,
  stringifySearch,
  defaultPreload: "intent",
  defaultPendingComponent: () => <Loading />,
  defaultErrorComponent: PageCrash,
  defaultNotFoundComponent: NotFound,
  scrollRestoration: true,
  // A new key per record: state of one record's page must not show on the next one's.
  defaultRemountDeps: ({ params }) => params,
});

/** Begins to load the file of this page in parallel with the requests that must be answered before it is shown. */
export function loadPageOf(path: string): void {
  const [routes] = router.getMatchedRoutes(path);
  void (routes.at(-1)?.options.component as AsyncRouteComponent<object> | undefined)?.preload?.();
}

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
