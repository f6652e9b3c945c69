import type { Route } from "../route.ts";
import { auditLogRoutes } from "./audit-logs.ts";
import { authRoutes } from "./auth.ts";
import { partnerRoutes } from "./partners.ts";
import { platformRoutes } from "./platform.ts";

/** Everything the gateway serves by itself; docs come from Express. */
export const routes: readonly Route[] = [...authRoutes, ...partnerRoutes, ...auditLogRoutes, ...platformRoutes];
