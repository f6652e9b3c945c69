import { cspOrigin, isUuid, type Logger } from "@muster/kit";
import { lru } from "../auth/lru.ts";

/** What the policy of a portal link's page names. */
export type PortalPolicy = { embedOrigins: readonly string[]; imageOrigin: string | null };

type Options = {
  page(linkId: string): Promise<{ embedOrigins: readonly string[]; logoUrl: string }>;
  log: Logger;
};

/** Links cached, and for how long in milliseconds: a page that is opened again and again is looked up once. */
const cachedMax = 1_000;
const cachedMs = 5_000;
const closed: PortalPolicy = { embedOrigins: [], imageOrigin: null };

/** The policy of a link's page by the target of its request: no frames for an unknown link, or without identity. */
export function createPortalPolicy({ page, log }: Options): (target: string) => Promise<PortalPolicy> {
  const cached = lru<Promise<PortalPolicy>>(cachedMax, { ttl: cachedMs });
  const read = async (linkId: string): Promise<PortalPolicy> => {
    try {
      const { embedOrigins, logoUrl } = await page(linkId);
      return { embedOrigins, imageOrigin: cspOrigin(logoUrl) };
    } catch (err) {
      log.info({ err }, "portal link of a page not known");
      return closed;
    }
  };
  return async (target) => {
    const linkId = /^\/portal\/([^/?]+)/.exec(target)?.[1]?.toLowerCase() ?? "";
    if (!isUuid(linkId)) return closed;
    const found = cached.get(linkId);
    if (found !== undefined) return found;
    const fresh = read(linkId);
    cached.set(linkId, fresh);
    return fresh;
  };
}
