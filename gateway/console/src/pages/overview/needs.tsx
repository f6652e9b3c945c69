import { Link } from "@tanstack/react-router";
import { CircleAlert, CircleCheck, Clock, Laptop, type LucideIcon, TriangleAlert } from "lucide-react";
import { useState, useSyncExternalStore } from "react";
import { NameOf } from "../../parts/name-of.tsx";
import { Sentence } from "../../parts/sentence.tsx";
import type { Needed } from "../../parts/use-attention.ts";
import { useLastAnswer } from "../../parts/webhook-cause.tsx";
import styles from "./overview.module.css";

const icons: Readonly<Record<string, LucideIcon>> = {
  rollout: CircleAlert,
  certificate: Clock,
  api_key: Clock,
  device: Laptop,
};
const phone = matchMedia("(width < 48rem)");

/** How many are shown at first: the fleet is to be seen below them. */
function useAtFirst(): number {
  return useSyncExternalStore(
    (listener) => {
      phone.addEventListener("change", listener);
      return () => phone.removeEventListener("change", listener);
    },
    () => (phone.matches ? 4 : 8),
  );
}

/** What the receiver of a failing webhook answers, before how often. */
function LastAnswer({ of }: { of: string }) {
  const answer = useLastAnswer(of);
  return answer === "" ? null : `${answer} `;
}

type NeedsProps = {
  of: readonly Needed[];
  /** Kinds of a service that did not answer: nothing is said of them. */
  unknownKinds: readonly string[];
  cutKinds: readonly string[];
  /** Whether rows are of several organizations. */
  isEverywhere: boolean;
};

/** What needs attention, the worst first, each with its one next step. */
export function Needs({ of, unknownKinds, cutKinds, isEverywhere }: NeedsProps) {
  const [isWhole, showAll] = useState(false);
  const atFirst = useAtFirst();
  // A line for one more would need as much room as that one.
  const shown = isWhole || of.length === atFirst + 1 ? of : of.slice(0, atFirst);
  return (
    <ul className={styles.needs} aria-label="What needs attention">
      {of.length === 0 && unknownKinds.length === 0 ? (
        <li data-tone="good">
          <CircleCheck size={17} aria-hidden />
          <p className="soft">No rollout is halted, nothing fails, and no key or certificate ends soon.</p>
        </li>
      ) : null}
      {shown.map(({ key, kind, tone, title, sentence, record, orgId, link, verb }) => {
        const Icon = icons[kind] ?? TriangleAlert;
        const { pathname, searchParams } = new URL(link, location.origin);
        return (
          <li key={key} data-tone={tone}>
            <Icon size={17} aria-hidden />
            <p>
              <b>{title}</b>{" "}
              <span className="soft">
                {isEverywhere && orgId ? (
                  <>
                    <NameOf id={orgId} />:{" "}
                  </>
                ) : null}
                {kind === "webhook" && record ? <LastAnswer of={record.id} /> : null}
                <Sentence of={sentence} />
              </span>
            </p>
            <Link to={pathname} search={Object.fromEntries(searchParams)} className="button" data-size="small">
              {verb}
              <span className="visually-hidden"> {title}</span>
            </Link>
          </li>
        );
      })}
      {of.length > shown.length || cutKinds.length > 0 ? (
        <li>
          <span />
          <p className="soft">
            {of.length > shown.length ? (
              <button type="button" data-weight="link" onClick={() => showAll(true)}>
                Show {(of.length - shown.length).toLocaleString()} more
              </button>
            ) : (
              `There are more of: ${cutKinds.join(", ").replaceAll("_", " ")}.`
            )}
          </p>
        </li>
      ) : null}
      {unknownKinds.length > 0 ? (
        <li data-tone="warn">
          <TriangleAlert size={17} aria-hidden />
          <p>A part of Muster does not answer: nothing is known of {unknownKinds.join(", ").replaceAll("_", " ")}.</p>
        </li>
      ) : null}
    </ul>
  );
}
