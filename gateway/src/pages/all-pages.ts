import type { Logger } from "@muster/kit";
import { appUrlOf, type Config } from "../config.ts";
import { createDocs } from "../openapi/docs-page.ts";
import { createConsole, type Pages } from "./console.ts";
import { createLogoOrigin } from "./logo-origin.ts";

/** What is no row: the docs, and the console where it is built and on. `logoUrl` asks identity for the logo of the sign-in page. */
export function createPages(options: { config: Config; logoUrl(): Promise<string>; log: Logger }): readonly Pages[] {
  const { config, logoUrl, log } = options;
  const docs = createDocs(log);
  if (!config.CONSOLE) return [docs];
  const logoOrigin = createLogoOrigin({ logoUrl, now: Date.now, log });
  const pages = createConsole({ publicUrl: config.PUBLIC_URL, appUrl: appUrlOf(config), logoOrigin, log });
  return pages === null ? [docs] : [docs, pages];
}
