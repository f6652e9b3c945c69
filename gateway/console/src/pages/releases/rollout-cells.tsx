import type { ItemOf } from "@muster/client";
import { asOptions } from "../../parts/filter-bar.tsx";
import { share } from "../../parts/share.ts";
import { partWords } from "../../rules/halting-failures.ts";
import type { Tone } from "../../rules/tone.ts";
import styles from "./rollout-cells.module.css";

type Rollout = ItemOf<"/api/v1/agent-versions/rollouts">;
type Counts = Pick<Rollout, "succeeded" | "failed" | "inFlight">;

/** The programs that have releases. */
export const components = asOptions(["agent", "watchdog", "helper"]);

/** How many devices were offered a version. */
export const offeredBy = ({ succeeded, failed, inFlight }: Counts): number => succeeded + failed + inFlight;

/** Parts of a whole below the number that they are said by. */
export const Track = ({ parts, of }: { parts: readonly (readonly [Tone, number])[]; of: number }) => (
  <small data-minor aria-hidden>
    <span className={styles.track}>
      {parts.map(([tone, count]) => (
        <i key={tone} data-tone={tone} style={share(count, of)} />
      ))}
    </span>
  </small>
);

type UpdatesProps = {
  of: Counts;
  /** Beside the failures of the part that halted: these are all. */
  isOfAll?: boolean | undefined;
};

/** How many devices of those that were offered a version run it, how many failed, and how many install it now. */
export function Updates({ of, isOfAll = false }: UpdatesProps) {
  const offered = offeredBy(of);
  if (offered === 0) return <span className="faint">none yet</span>;
  const parts = [
    ["good", of.succeeded],
    ["bad", of.failed],
    ["run", of.inFlight],
  ] as const;
  return (
    <>
      <span className={styles.words}>
        {of.succeeded.toLocaleString()} of {offered.toLocaleString()} updated
        {of.failed > 0 ? `, ${of.failed.toLocaleString()} failed${isOfAll ? " in all" : ""}` : null}
      </span>
      <Track parts={parts} of={offered} />
    </>
  );
}

/** Why a rollout halted, as a whole or in a part. */
export function causeOf({ state, haltedParts, reason }: Pick<Rollout, "state" | "haltedParts" | "reason">) {
  const [part] = haltedParts;
  if (!part || state === "halted") return reason;
  const why = partWords(part.reason, part);
  return part.platform ? `${part.platform}: ${why}` : why;
}
