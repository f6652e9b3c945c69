import type { CallOptions, Client } from "@connectrpc/connect";
import { type AppError, counter, fairPlaces, type Logger } from "@muster/kit";
import type { RefusalService } from "@muster/proto/muster/identity/v1/refusal_pb";
import type { Credential } from "./credential.ts";
import { lru } from "./lru.ts";

/** Called after the reply to each refused change of an authenticated caller. */
export type NoteRefusal = (refusal: {
  action: string;
  id: string;
  credential: Credential;
  error: AppError;
  rpc(): Promise<CallOptions>;
}) => void;

/** Actors and actions of this minute that were already reported. */
const knownMax = 10_000;
/** Reports in flight at most, of one tenant half of what others leave; further ones are dropped and counted. */
const underWayMax = 20;

const untold = counter("gateway_refusals_untold_total", "Refused changes that were not reported to identity.", [
  "reason",
]);

/**
 * Reports changes that the gateway refused to identity, once per actor, action and minute: replies do not wait for the
 * report, and refused requests cannot flood the audit trail.
 */
export function createRefusals({
  refusals,
  log,
  now = Date.now,
}: {
  refusals: Pick<Client<typeof RefusalService>, "noteRefusal">;
  log: Logger;
  now?: () => number;
}): NoteRefusal {
  const told = lru<true>(knownMax);
  const places = fairPlaces(underWayMax);
  return ({ action, id, credential, error, rpc }) => {
    const { orgId, partnerId, actor } = credential.caller;
    const wanted = { owner: orgId ?? partnerId ?? actor.id };
    const once = `${actor.id} ${action} ${Math.floor(now() / 60_000)}`;
    if (told.has(once)) return;
    if (!places.take(wanted, never)) {
      places.withdraw(wanted, never);
      untold.inc({ reason: "busy" });
      return;
    }
    told.set(once, true);
    const tell = async () => refusals.noteRefusal({ action, code: error.code, id }, await rpc());
    tell()
      .catch((err: unknown) => {
        told.delete(once);
        untold.inc({ reason: "failed" });
        log.warn({ err, action }, "refused change not reported to identity");
      })
      .finally(() => places.leave(wanted));
  };
}

const never = () => undefined;
