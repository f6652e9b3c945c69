import type { Database } from "@muster/db";
import { type Logger, type Repeating, repeatEvery, systemCaller } from "@muster/kit";
import type { TxtRecords } from "../clients/sso/txt-records.ts";
import { domainFault } from "../commands/sso/check-domain.ts";
import { noteCheck, staleDomains } from "../store/sso/domains.ts";
import { removeEnded } from "../store/sso/logins.ts";

const everyMs = 60_000;
const dayMs = 86_400_000;
/** Domains looked up again in one round. */
const batch = 50;

type Deps = { db: Database; txt: TxtRecords; log: Logger; now: () => Date };

/** Looks verified domains up again that nobody has asked about for a day. A lost record is told; the domain stays verified. */
export async function recheckDomains({ db, txt, log, now }: Deps): Promise<number> {
  const stale = await staleDomains(db, new Date(now().getTime() - dayMs), batch);
  for (const { id, domain, token, last_error } of stale) {
    const fault = await domainFault(txt, domain, token);
    await db.tx({ caller: systemCaller("identity") }, (tx) => noteCheck(tx, id, fault, now()));
    if (fault !== null && last_error === null) log.warn({ domain, fault }, "record of a verified domain is gone");
  }
  return stale.length;
}

/** Each minute removes round trips, codes and assertions that are over, and looks up what has waited longest. */
export function startSsoCleanup(deps: Deps): Repeating {
  const clean = async () => {
    await removeEnded(deps.db, deps.now());
    await recheckDomains(deps);
  };
  return repeatEvery(everyMs, clean, (err) => deps.log.warn({ err }, "single sign-on cannot be cleaned up now"));
}
