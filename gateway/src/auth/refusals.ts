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

/** Reports a refusal to identity unless one of this `actorId` and `what` was reported in this minute. */
export type ReportRefusal = (refused: {
  /** Organization, partner or actor, which has a fair share (docs/concepts.md#fair-share). */
  owner: string;
  actorId: string;
  what: string;
  send(): Promise<unknown>;
}) => void;

/** Actors and actions of this minute that were already reported. */
const reportedMax = 10_000;
/** Concurrent reports, of which one tenant has a fair share (docs/concepts.md#fair-share). */
const concurrency = 20;
/** Reports that wait for one of those, of which one tenant has a fair share; further ones are dropped and counted. */
const waitingMax = 1_000;

const unreported = counter(
  "muster_gateway_denials_unreported_total",
  "Refused changes, and refused requests of directories, that were not reported to identity.",
  ["reason"],
);

/**
 * Reports refusals to identity, once per actor, what was refused and minute: replies do not wait for the report, and
 * refused requests cannot flood what it writes.
 */
export function refusalReporter({ log, now = Date.now }: { log: Logger; now?: () => number }): ReportRefusal {
  const reported = lru<true>(reportedMax);
  const slots = fairSlots(concurrency);
  const waiting = createCounts();
  return ({ owner, actorId, what, send }) => {
    const once = `${actorId} ${what} ${Math.floor(now() / 60_000)}`;
    if (reported.has(once)) return;
    const begin = () => {
      send()
        .catch((err: unknown) => {
          reported.delete(once);
          unreported.inc({ reason: "failed" });
          log.warn({ err, what }, "refusal not reported to identity");
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

/** Refused changes become rows of the audit trail. */
export function createRefusals(options: {
  refusals: Pick<Client<typeof RefusalService>, "noteRefusal">;
  log: Logger;
  now?: () => number;
}): NoteRefusal {
  const { refusals } = options;
  const report = refusalReporter(options);
  return ({ credential, refusal, rpc }) => {
    const { orgId, partnerId, actor } = credential.caller;
    report({
      owner: orgId ?? partnerId ?? actor.id,
      actorId: actor.id,
      what: refusal.action,
      send: async () => refusals.noteRefusal(refusal, await rpc()),
    });
  };
}
