import { Link } from "@tanstack/react-router";
import figures from "../../parts/fleet.module.css";
import { to } from "../../parts/links.ts";
import { allRows } from "../../rules/machine-actions.ts";
import { shareOf } from "../../rules/share-of.ts";

export type Counts = { total: number; success: number; failure: number; denied: number };
type TotalsProps = { of: Counts; time: { from: string; to: string }; orgId: string | undefined };

const outcomes = [
  ["total", "Entries", undefined],
  ["success", "Success", "off"],
  ["failure", "Failure", "bad"],
  ["denied", "Denied", "warn"],
] as const;

/** How many entries ended how, in the colours of the chart below, each a link to just those. */
export function Totals({ of: counts, time: { from, to: until }, orgId }: TotalsProps) {
  const all = { ...allRows, orgId, from, to: until };
  return (
    <ul className={figures.counts}>
      {outcomes.map(([name, word, tone]) => (
        <li key={name} data-tone={tone}>
          <Link {...to("/audit", name === "total" ? all : { ...all, result: name })}>
            <span>{word}</span>
            <b className={`number ${tone !== "off" && counts[name] > 0 ? (tone ?? "") : ""}`}>
              {counts[name].toLocaleString()}
            </b>
            <small>{name === "total" ? null : shareOf(counts[name], counts.total)}</small>
          </Link>
        </li>
      ))}
    </ul>
  );
}
