import { type Repeating, repeatEvery, systemCaller } from "@muster/kit";
import { domainError } from "../commands/sso/check-domain.ts";
import { refreshMetadata, warnOfExpiry } from "../commands/sso/refresh-metadata.ts";
import { endKeyGracePeriods } from "../commands/sso/renew-key.ts";
import type { SsoDeps } from "../deps.ts";
import { removeOldRequests } from "../store/directory/requests.ts";
import { type DomainRow, noteCheck, staleDomains } from "../store/sso/domains.ts";
import { removeEnded } from "../store/sso/logins.ts";

const everyMs = 60_000;
const dayMs = 86_400_000;
/** Logged requests of directories removed in one round. */
const requestsRemoved = 20_000;
/** Domains looked up again in one round. */
const batch = 50;

type Deps = Pick<SsoDeps, "db" | "egress" | "checkUrl" | "log" | "now" | "txt">;

/**
 * Looks up verified domains again that were not checked for a day. A lost record is reported; the domain stays
 * verified.
 */
export async function recheckDomains({ db, txt, log, now }: Deps): Promise<number> {
  const stale = await staleDomains(db, new Date(now().getTime() - dayMs), batch);
  const recheck = async ({ id, domain, token, last_error }: DomainRow) => {
    const error = await domainError(txt, domain, token);
    await db.tx({ caller: systemCaller("identity") }, (tx) => noteCheck(tx, id, error, now()));
    if (error !== null && last_error === null) log.warn({ domain, error }, "record of a verified domain is gone");
  };
  // Together: a name server that never answers costs the round its 3 s once.
  await Promise.all(stale.map(recheck));
  return stale.length;
}

/**
 * Each minute removes expired login flows, codes, assertions and old requests of directories, looks up the domains and
 * metadata that are due, warns of expiring certificates, and lets our next keys take over.
 */
export function startSsoCleanup(deps: Deps & Pick<SsoDeps, "sealing">): Repeating {
  const clean = async () => {
    await removeEnded(deps.db, deps.now());
    await removeOldRequests(deps.db, requestsRemoved);
    await recheckDomains(deps);
    await refreshMetadata(deps);
    await warnOfExpiry(deps);
    await endKeyGracePeriods(deps);
  };
  return repeatEvery(everyMs, clean, (err) => deps.log.warn({ err }, "single sign-on cannot be cleaned up now"));
}
