import type { CallOptions, Client } from "@connectrpc/connect";
import { type AppError, counter, type Logger } from "@muster/kit";
import type { RefusalService } from "@muster/proto/muster/identity/v1/refusal_pb";
import { LRUCache } from "lru-cache";
import type { Credential } from "./credential.ts";

/** Told behind the answer of each change that was refused to somebody known. */
export type NoteRefusal = (refusal: {
  action: string;
  id: string;
  credential: Credential;
  error: AppError;
  rpc(): Promise<CallOptions>;
}) => void;

/** Actors and actions of this minute that are known to have been told already. */
const knownMax = 10_000;
/** Told at the same time; more are left out and counted. */
const underWayMax = 20;

const untold = counter("gateway_refusals_untold_total", "Refused changes that identity was not told of.", ["reason"]);

/**
 * Notifies identity of changes that were refused here, once for each actor, action and minute: nobody who is refused
 * waits for it, and nobody can flood the trail by being refused.
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
  const told = new LRUCache<string, true>({ max: knownMax });
  let underWay = 0;
  return ({ action, id, credential, error, rpc }) => {
    const once = `${credential.caller.actor.id} ${action} ${Math.floor(now() / 60_000)}`;
    if (told.has(once)) return;
    if (underWay >= underWayMax) {
      untold.inc({ reason: "busy" });
      return;
    }
    told.set(once, true);
    underWay++;
    const tell = async () => refusals.noteRefusal({ action, code: error.code, id }, await rpc());
    tell()
      .catch((err: unknown) => {
        told.delete(once);
        untold.inc({ reason: "failed" });
        log.warn({ err, action }, "identity not told of a refused change");
      })
      .finally(() => {
        underWay--;
      });
  };
}
