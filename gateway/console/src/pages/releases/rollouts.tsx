import type { ItemOf } from "@muster/client";
import { Link } from "@tanstack/react-router";
import { anywhere } from "../../operations/chosen.tsx";
import { nextColumn, OperationButton } from "../../operations/operation-buttons.tsx";
import { rolloutOperations } from "../../operations/rollouts.tsx";
import { newRollout } from "../../operations/settings.tsx";
import { causeColumn } from "../../parts/cause.tsx";
import { asOptions } from "../../parts/filter-bar.tsx";
import { toRecord } from "../../parts/links.ts";
import { ListPage } from "../../parts/list-page.tsx";
import { useMe } from "../../parts/me.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { rolloutHealth } from "../../rules/rollout-health.ts";
import { causeOf, components, Updates } from "./rollout-cells.tsx";
import { RolloutStatus } from "./rollout-status.tsx";

type Rollout = ItemOf<"/api/v1/agent-versions/rollouts">;

const states = asOptions(["running", "paused", "halted", "completed", "cancelled"]);
const kinds = [
  ["guard", "guards"],
  ["staged", "staged"],
] as const;

/** Rollouts, newest first. */
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
          width: "11rem",
          cell: ({ id, component, version }) => (
            <Link {...toRecord("/releases/rollouts/$id", { id })}>
              {component} {version}
            </Link>
          ),
        },
        { id: "kind", title: "Kind", width: "7rem", cell: ({ kind }) => kind },
        {
          id: "state",
          title: "State",
          width: "9.5rem",
          as: "state",
          cell: (rollout) => <RolloutStatus of={rollout} />,
        },
        {
          id: "share",
          title: "Share",
          width: "6rem",
          as: "end",
          isUsual: ({ percent }) => percent === 100,
          cell: ({ percent }) => `${percent} %`,
        },
        {
          id: "inFlight",
          title: "In flight",
          width: "7rem",
          isMinor: true,
          isUsual: ({ inFlight }) => inFlight === 0,
          cell: ({ inFlight }) => inFlight.toLocaleString(),
        },
        {
          id: "done",
          title: "Updates",
          width: "9.5rem",
          isMinor: true,
          cell: (rollout) => <Updates of={rollout} />,
        },
        causeColumn<Rollout>((rollout) => (rolloutHealth(rollout).tone === "bad" ? causeOf(rollout) : null)),
        nextColumn(me, rolloutOperations, ({ component, version }) => `${component} ${version}`),
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
