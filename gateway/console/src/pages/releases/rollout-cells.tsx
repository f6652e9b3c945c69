import type { ItemOf } from "@muster/client";
import { asOptions } from "../../parts/filter-bar.tsx";

type Rollout = ItemOf<"/api/v1/agent-versions/rollouts">;
type Counts = Pick<Rollout, "succeeded" | "failed" | "inFlight">;

/** The programs that have releases. */
export const components = asOptions(["agent", "watchdog", "helper"]);

/** How many devices were offered a version. */
export const offeredBy = ({ succeeded, failed, inFlight }: Counts): number => succeeded + failed + inFlight;

/**
 * How many devices of those that were offered a version run it, how many failed, and how many install it
 * now, unless it `isBrief`.
 */
export function Updates({ of, isBrief }: { of: Counts; isBrief?: true }) {
  const offered = offeredBy(of);
  if (offered === 0) return null;
  return (
    <span className="number">
      {of.succeeded.toLocaleString()} of {offered.toLocaleString()} updated
      {of.failed > 0 ? (
        <>
          , <span className="bad">{of.failed.toLocaleString()} failed</span>
        </>
      ) : null}
      {of.inFlight > 0 && !isBrief ? <span className="soft"> · {of.inFlight.toLocaleString()} in flight</span> : null}
    </span>
  );
}

/** Why a rollout halted, as a whole or in a part. */
export function causeOf({ state, haltedParts, reason }: Pick<Rollout, "state" | "haltedParts" | "reason">) {
  const [part] = haltedParts;
  if (!part || state === "halted") return reason;
  return part.platform ? `${part.platform}: ${part.reason}` : part.reason;
}
