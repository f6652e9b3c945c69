import { type Logger, publicAddresses } from "@muster/kit";
import { ownCall } from "../clients/own-calls.ts";
import type { Services } from "../clients/services.ts";
import type { Config } from "../config.ts";
import type { Pages } from "../http/pages.ts";
import { createDocs } from "../openapi/docs-page.ts";
import { createConsole } from "../pages/console.ts";
import { createInstallers } from "../pages/installers.ts";
import { createLogoOrigin } from "../pages/logo-origin.ts";

/** Milliseconds that the sign-in page waits for its branding's address. */
const brandingTimeoutMs = 1_000;

/** What is no row: the docs, the agent's installers, and the console where it is built and on. */
export function createPages(options: {
  config: Config;
  services: Pick<Services, "ssoLogins">;
  log: Logger;
}): readonly Pages[] {
  const { config, services, log } = options;
  const always = [createDocs(log), createInstallers(publicAddresses(config))];
  if (!config.CONSOLE) return always;
  const logoUrl = async () =>
    (await services.ssoLogins.getLoginContext({}, await ownCall(brandingTimeoutMs))).branding?.logoUrl ?? "";
  const logoOrigin = createLogoOrigin({ logoUrl, now: Date.now, log });
  const pages = createConsole({ ...publicAddresses(config), logoOrigin, log });
  return pages === null ? always : [...always, pages];
}
