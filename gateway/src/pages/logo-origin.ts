import { cspOrigin, type Logger } from "@muster/kit";

/** For how long an answer counts, in milliseconds: a new logo shows within that time. */
const cachedMs = 30_000;

/**
 * The origin of the sign-in page's logo, for the content security policy; null for no logo, for data: URLs and for a
 * host that a policy cannot name. While identity is unavailable the page has no logo.
 */
export function createLogoOrigin(options: {
  logoUrl(): Promise<string>;
  now(): number;
  log: Logger;
}): () => Promise<string | null> {
  let cached: { at: number; origin: Promise<string | null> } | null = null;
  const ask = async () => {
    try {
      return cspOrigin(await options.logoUrl());
    } catch (err) {
      options.log.info({ err }, "branding of the sign-in page not known");
      return null;
    }
  };
  return () => {
    const at = options.now();
    if (cached === null || at - cached.at > cachedMs) cached = { at, origin: ask() };
    return cached.origin;
  };
}
