import type { ItemOf } from "@muster/client";
import { Link } from "@tanstack/react-router";
import { anywhere } from "../../operations/chosen.tsx";
import { nextColumn, OperationButton } from "../../operations/operation-buttons.tsx";
import { review } from "../../operations/review.ts";
import { rolloutOperations } from "../../operations/rollouts.tsx";
import { newRollout } from "../../operations/settings.tsx";
import { Cause } from "../../parts/cause.tsx";
import { asOptions } from "../../parts/filter-bar.tsx";
import { toRecord } from "../../parts/links.ts";
import { ListPage } from "../../parts/list-page.tsx";
import { useMe } from "../../parts/me.tsx";
import { stateColumn } from "../../parts/state-column.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";
import { rolloutHealth } from "../../rules/rollout-health.ts";
import { inFlightWords, kindWords } from "../../rules/rollout-words.ts";
import type { Tone } from "../../rules/tone.ts";
import { causeOf, components, offeredBy, Updates } from "./rollout-cells.tsx";

type Rollout = ItemOf<"/api/v1/agent-versions/rollouts">;

const states = asOptions(["running", "paused", "halted", "completed", "cancelled"]);
const kinds = [
  ["staged", "in waves"],
  ["guard", "guards"],
] as const;

const isBad = (rollout: Rollout) => rolloutHealth(rollout).tone === "bad";

/** Why a rollout does not go well, before it is resumed. */
const reviewRollout = review<Rollout>({
  id: "rollout.review",
  needs: "GET /api/v1/agent-versions/rollouts/{id}/progress",
  isNext: isBad,
  leads: ({ id }) => toRecord("/releases/rollouts/$id", { id }),
});

/** The order of the list: what needs a look, then waves, then guards that watch. */
function rankOf(rollout: Rollout): Tone {
  const { tone } = rolloutHealth(rollout);
  if (tone === "bad" || tone === "warn") return tone;
  return rollout.kind === "guard" ? "off" : tone === "off" ? "good" : tone;
}

/** The heading of guards that had nothing to do. */
const unused = "Guards of versions that nobody updates to yet";

/** The heading of a part of the list. */
function partOf(rollout: Rollout): string {
  const rank = rankOf(rollout);
  if (rank === "off" && rollout.state === "running" && offeredBy(rollout) === 0) return unused;
  if (rank === "bad" || rank === "warn") return "Needs a look";
  return rank === "off"
    ? "Guards: each watches all updates to its version, and halts them when too many fail"
    : "In waves: a version is offered step by step";
}

/** Why it does not go well, or what goes on. */
function noteOf(rollout: Rollout) {
  const cause = isBad(rollout) ? causeOf(rollout) : null;
  if (cause) return <Cause of={cause} />;
  // One without updates has its own heading.
  if (rollout.kind === "guard" && offeredBy(rollout) === 0) return null;
  return inFlightWords(rollout);
}

/** Rollouts: what needs a look first, then newest first. */
export function Rollouts() {
  const me = useMe();
  const create = <OperationButton of={anywhere} operation={newRollout} />;
  return (
    <ListPage
      title="Rollouts"
      section="releases"
      path="/api/v1/agent-versions/rollouts"
      filters={["component", "state", "kind"]}
      choices={[
        { name: "state", label: "State", options: states },
        { name: "kind", label: "Kind", options: kinds },
        { name: "component", label: "Program", options: components },
      ]}
      everyMs={10_000}
      actions={create}
      columns={[
        {
          id: "what",
          title: "Rollout",
          width: "13rem",
          hasNote: true,
          cell: (rollout) => (
            <>
              <Link {...toRecord("/releases/rollouts/$id", { id: rollout.id })}>
                {rollout.component} {rollout.version}
              </Link>
              <small>{kindWords(rollout)}</small>
            </>
          ),
        },
        stateColumn<Rollout>({ title: "State", stateOf: rolloutHealth, noteOf }),
        {
          id: "done",
          title: "Updates",
          width: "15rem",
          isMinor: true,
          hasNote: true,
          cell: (rollout) => <Updates of={rollout} isOfAll={rollout.haltedParts.length > 0} />,
        },
        {
          id: "made",
          title: "Started",
          width: "9rem",
          isMinor: true,
          cell: ({ createdAt }) => <Time at={createdAt} />,
        },
        nextColumn(me, [reviewRollout, ...rolloutOperations], ({ component, version }) => `${component} ${version}`),
      ]}
      isShort
      toneOf={rankOf}
      groupOf={partOf}
      quietGroup={unused}
      empty={
        <EmptyState title="No rollout yet.">
          <p>One guards each promoted release; a staged one offers a version to a part of the devices first.</p>
          {create}
        </EmptyState>
      }
    />
  );
}
