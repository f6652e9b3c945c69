import { CircleAlert, CircleCheck, Clock, type LucideIcon, TriangleAlert } from "lucide-react";
import { useState, useSyncExternalStore } from "react";
import { linkTo } from "../../parts/links.ts";
import { NameOf } from "../../parts/name-of.tsx";
import { NeedRow, NeedStep, NeedsList } from "../../parts/notice.tsx";
import { Sentence } from "../../parts/sentence.tsx";
import type { Needed } from "../../parts/use-attention.ts";
import { useLastAnswer } from "../../parts/webhook-cause.tsx";
import { briefly, soonSentence } from "../../rules/attention.ts";

const icons: Readonly<Record<string, LucideIcon>> = { rollout: CircleAlert };
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

/** What needs attention: what fails, then what comes soon, each with its one next step. */
export function Needs({ of, unknownKinds, cutKinds, isEverywhere }: NeedsProps) {
  const [isWhole, showAll] = useState(false);
  const atFirst = useAtFirst();
  const failing = of.filter(({ tone }) => tone === "bad");
  const soon = of.filter(({ tone }) => tone !== "bad");
  const shown = firstOf(failing, isWhole, atFirst);
  const shownSoon = firstOf(soon, isWhole, atFirst);
  const rest = of.length - shown.length - shownSoon.length;
  return (
    <NeedsList label="What needs attention">
      {of.length === 0 && unknownKinds.length === 0 ? (
        <NeedRow tone="good" icon={CircleCheck}>
          <p className="soft">No rollout is halted, nothing fails, and no key or certificate ends soon.</p>
        </NeedRow>
      ) : null}
      {shown.map((each) => (
        <Failing key={each.key} of={each} isEverywhere={isEverywhere} />
      ))}
      {shownSoon.map((each) => (
        <Soon key={each.key} of={each} isEverywhere={isEverywhere} />
      ))}
      {rest > 0 || cutKinds.length > 0 ? (
        <li>
          <span />
          <p className="soft">
            {rest > 0 ? (
              <button type="button" data-weight="link" onClick={() => showAll(true)}>
                Show {rest.toLocaleString()} more
              </button>
            ) : (
              `There are more of: ${cutKinds.join(", ").replaceAll("_", " ")}.`
            )}
          </p>
        </li>
      ) : null}
      {unknownKinds.length > 0 ? (
        <NeedRow tone="warn" icon={TriangleAlert}>
          <p>A part of Muster does not answer: nothing is known of {unknownKinds.join(", ").replaceAll("_", " ")}.</p>
        </NeedRow>
      ) : null}
    </NeedsList>
  );
}

/** A line for one more would need as much room as that one. */
const firstOf = (all: readonly Needed[], isWhole: boolean, most: number) =>
  isWhole || all.length === most + 1 ? all : all.slice(0, most);

/** Its organization, where rows are of several. */
const Owner = ({ of: orgId }: { of: string | null }) =>
  orgId ? (
    <>
      <NameOf id={orgId} />:{" "}
    </>
  ) : null;

type NeedProps = { of: Needed; isEverywhere: boolean };

function Failing({ of: { kind, tone, title, sentence, record, orgId, link, verb }, isEverywhere }: NeedProps) {
  return (
    <NeedRow tone={tone} icon={icons[kind] ?? TriangleAlert}>
      <p>
        <b>{title}</b>{" "}
        <span className="soft">
          {isEverywhere ? <Owner of={orgId} /> : null}
          {kind === "webhook" && record ? <LastAnswer of={record.id} /> : null}
          <Sentence of={briefly(sentence)} />
        </span>
      </p>
      <NeedStep link={linkTo(link)} title={title}>
        {verb}
      </NeedStep>
    </NeedRow>
  );
}

/** What ends or waits. */
const Soon = ({ of, isEverywhere }: NeedProps) => (
  <NeedRow tone={of.tone} icon={Clock}>
    <p>
      <b>
        <Sentence of={soonSentence(of)} />
      </b>{" "}
      {isEverywhere && of.orgId ? (
        <span className="soft">
          <NameOf id={of.orgId} />
        </span>
      ) : null}
    </p>
    <NeedStep link={linkTo(of.link)} title={of.title}>
      {of.verb}
    </NeedStep>
  </NeedRow>
);
