import type { ItemOf } from "@muster/client";
import { Link } from "@tanstack/react-router";
import { anywhere } from "../../operations/chosen.tsx";
import { nextColumn, OperationButton } from "../../operations/operation-buttons.tsx";
import { review } from "../../operations/review.ts";
import { rolloutOperations } from "../../operations/rollouts.tsx";
import { newRollout } from "../../operations/settings.tsx";
import { causeColumn } from "../../parts/cause.tsx";
import { asOptions } from "../../parts/filter-bar.tsx";
import { toRecord } from "../../parts/links.ts";
import { ListNote } from "../../parts/list-note.tsx";
import { ListPage } from "../../parts/list-page.tsx";
import { useMe } from "../../parts/me.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";
import { rolloutHealth } from "../../rules/rollout-health.ts";
import { kindWords } from "../../rules/rollout-words.ts";
import { causeOf, components, Updates } from "./rollout-cells.tsx";
import { RolloutStatus } from "./rollout-status.tsx";

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

/** Rollouts, newest first. */
export function Rollouts() {
  const me = useMe();
  const create = <OperationButton of={anywhere} operation={newRollout} />;
  return (
    <ListPage
      title="Rollouts"
      section="releases"
      path="/api/v1/agent-versions/rollouts"
      segments={
        <ListNote>
          Waves offer a version step by step. The guard of a version watches all updates to it, and halts them when too
          many fail.
        </ListNote>
      }
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
          width: "9rem",
          cell: ({ id, component, version }) => (
            <Link {...toRecord("/releases/rollouts/$id", { id })}>
              {component} {version}
            </Link>
          ),
        },
        { id: "kind", title: "Kind", width: "7.5rem", cell: kindWords },
        {
          id: "state",
          title: "State",
          width: "9.5rem",
          as: "state",
          cell: (rollout) => <RolloutStatus of={rollout} />,
        },
        {
          id: "done",
          title: "Updates",
          width: "13rem",
          isMinor: true,
          cell: (rollout) => <Updates of={rollout} />,
        },
        causeColumn<Rollout>((rollout) => (isBad(rollout) ? causeOf(rollout) : null)),
        {
          id: "made",
          title: "Started",
          width: "8rem",
          as: "end",
          isExtra: true,
          cell: ({ createdAt }) => <Time at={createdAt} />,
        },
        nextColumn(me, [reviewRollout, ...rolloutOperations], ({ component, version }) => `${component} ${version}`),
      ]}
      toneOf={(rollout) => rolloutHealth(rollout).tone}
      empty={
        <EmptyState title="No rollout yet.">
          <p>One guards each promoted release; a staged one offers a version to a part of the devices first.</p>
          {create}
        </EmptyState>
      }
    />
  );
}
