import type { MessageInitShape } from "@bufbuild/protobuf";
import type { CallOptions, Client } from "@connectrpc/connect";
import { counter, createCounts, fairSlots, type Logger, shareIn } from "@muster/kit";
import type { NoteRefusalRequestSchema, RefusalService } from "@muster/proto/muster/identity/v1/refusal_pb";
import type { Credential } from "../route/credential.ts";
import { lru } from "./lru.ts";

/** Called after the reply to each refused change of an authenticated caller. */
export type NoteRefusal = (refused: {
  credential: Credential;
  refusal: Required<Omit<MessageInitShape<typeof NoteRefusalRequestSchema>, `$${string}`>>;
  rpc(): Promise<CallOptions>;
}) => void;

/** Actors and actions of this minute that were already reported. */
const reportedMax = 10_000;
/** Concurrent reports, of which one tenant has a fair share (docs/concepts.md#fair-share). */
const concurrency = 20;
/** Reports that wait for one of those, of which one tenant has a fair share; further ones are dropped and counted. */
const waitingMax = 1_000;

const unreported = counter(
  "muster_gateway_denials_unreported_total",
  "Refused changes that were not reported to identity.",
  ["reason"],
);

/**
 * Reports refused changes to identity, once per actor, action and minute: replies do not wait for the
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
  const reported = lru<true>(reportedMax);
  const slots = fairSlots(concurrency);
  const waiting = createCounts();
  return ({ credential, refusal, rpc }) => {
    const { action } = refusal;
    const { orgId, partnerId, actor } = credential.caller;
    const owner = orgId ?? partnerId ?? actor.id;
    const once = `${actor.id} ${action} ${Math.floor(now() / 60_000)}`;
    if (reported.has(once)) return;
    const report = async () => refusals.noteRefusal(refusal, await rpc());
    const begin = () => {
      report()
        .catch((err: unknown) => {
          reported.delete(once);
          unreported.inc({ reason: "failed" });
          log.warn({ err, action }, "refused change not reported to identity");
        })
        .finally(() => slots.leave({ owner }));
    };
    const beginLater = () => {
      waiting.add(owner, -1);
      begin();
    };
    const hasRoom = waiting.of(owner) < shareIn(waiting, owner, waitingMax);
    if (slots.take({ owner }, beginLater)) begin();
    else if (hasRoom) waiting.add(owner, 1);
    else {
      slots.withdraw({ owner }, beginLater);
      unreported.inc({ reason: "busy" });
      return;
    }
    reported.set(once, true);
  };
}
