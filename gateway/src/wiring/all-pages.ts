import { type Logger, publicAddresses } from "@muster/kit";
import { ownCall } from "../clients/own-calls.ts";
import type { Services } from "../clients/services.ts";
import type { Config } from "../config.ts";
import type { Pages } from "../http/pages.ts";
import { createDocs } from "../openapi/docs-page.ts";
import { createConsole } from "../pages/console.ts";
import { createInstallers } from "../pages/installers.ts";
import { createLogoOrigin } from "../pages/logo-origin.ts";
import { createPortalPolicy } from "../pages/portal-policy.ts";

/** Milliseconds that the sign-in page waits for its branding's address, and a portal's page for its link. */
const brandingTimeoutMs = 1_000;

/** What is no row: the docs, the agent's installers, and the console where it is built and on. */
export function createPages(options: {
  config: Config;
  services: Pick<Services, "ssoLogins" | "portals">;
  log: Logger;
}): readonly Pages[] {
  const { config, services, log } = options;
  const always = [createDocs(log), createInstallers(publicAddresses(config))];
  if (!config.CONSOLE) return always;
  const logoUrl = async () =>
    (await services.ssoLogins.getLoginContext({}, await ownCall(brandingTimeoutMs))).branding?.logoUrl ?? "";
  const logoOrigin = createLogoOrigin({ logoUrl, now: Date.now, log });
  const portalPolicy = createPortalPolicy({
    async page(linkId) {
      const { embedOrigins, branding } = await services.portals.getPortalPage(
        { linkId },
        await ownCall(brandingTimeoutMs),
      );
      return { embedOrigins, logoUrl: branding?.logoUrl ?? "" };
    },
    log,
  });
  const pages = createConsole({ ...publicAddresses(config), logoOrigin, portalPolicy, log });
  return pages === null ? always : [...always, pages];
}
