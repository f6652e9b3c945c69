import { Link } from "@tanstack/react-router";
import { Section } from "../../parts/facts.tsx";
import figures from "../../parts/fleet.module.css";
import { to } from "../../parts/links.ts";
import { useZone, zoneName } from "../../parts/zone.ts";
import { allRows } from "../../rules/machine-actions.ts";
import { shareOf } from "../../rules/share-of.ts";
import { timeSpan } from "../../rules/time-span.ts";

export type Counts = { total: number; success: number; failure: number; denied: number };
type TotalsProps = { of: Counts; time: { from: string; to: string }; orgId: string | undefined };

const outcomes = [
  ["total", "Entries", undefined],
  ["success", "Success", "off"],
  ["failure", "Failure", "bad"],
  ["denied", "Denied", "warn"],
] as const;

/** What one comes for. */
const isLookedFor = (name: keyof Counts) => name === "failure" || name === "denied";

/** How many entries ended how, each a link to just those. */
export function Totals({ of: counts, time: { from, to: until }, orgId }: TotalsProps) {
  const timeZone = zoneName(useZone());
  const all = { ...allRows, orgId, from, to: until };
  return (
    <Section
      title="In total"
      action={<p className="number">{timeSpan(new Date(from), new Date(until), new Date(), { timeZone })}</p>}
    >
      <ul className={figures.counts}>
        {outcomes.map(([name, word, tone]) => (
          <li key={name} data-tone={tone && (counts[name] > 0 ? tone : "off")}>
            <Link {...to("/audit", name === "total" ? all : { ...all, result: name })}>
              <span>{word}</span>
              <b className={`number ${tone !== "off" && counts[name] > 0 ? (tone ?? "") : ""}`}>
                {counts[name].toLocaleString()}
              </b>
              <small>
                {name === "total" ? null : shareOf(counts[name], counts.total)}
                {isLookedFor(name) && counts[name] > 0 ? <u>See them</u> : null}
              </small>
            </Link>
          </li>
        ))}
      </ul>
    </Section>
  );
}
