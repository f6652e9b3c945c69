import type { ItemOf } from "@muster/client";
import { Link } from "@tanstack/react-router";
import { anywhere } from "../../operations/chosen.tsx";
import { OperationButton, RowOperations } from "../../operations/operation-buttons.tsx";
import { publishVersion } from "../../operations/publish-version.tsx";
import { releaseOperations } from "../../operations/releases.tsx";
import { newRollout } from "../../operations/settings.tsx";
import { syncVersion } from "../../operations/sync-version.tsx";
import { asOptions } from "../../parts/filter-bar.tsx";
import { toRecord } from "../../parts/links.ts";
import { ListPage } from "../../parts/list-page.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import type { Column } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";
import { RolloutStatus } from "./rollout-status.tsx";

const components = asOptions(["agent", "watchdog", "helper"]);

/** Versions of the programs on devices, newest first. */
export function Releases() {
  const create = (
    <>
      <OperationButton of={anywhere} operation={syncVersion} />
      <OperationButton of={anywhere} operation={publishVersion} />
    </>
  );
  return (
    <ListPage
      title="Releases"
      section="releases"
      path="/api/v1/agent-versions"
      filters={["component"]}
      choices={[{ name: "component", label: "Program", options: components }]}
      everyMs={30_000}
      actions={create}
      columns={releaseColumns}
      empty={
        <EmptyState title="There is no release yet.">
          <p>A release comes from a configured source, or is published by its signed manifest.</p>
          <div>{create}</div>
        </EmptyState>
      }
    />
  );
}

const releaseColumns: Column<ItemOf<"/api/v1/agent-versions">>[] = [
  {
    id: "version",
    title: "Version",
    cell: ({ component, version, rollout }) => (
      <Link {...toRecord("/releases/rollouts/$id", { id: rollout.id })}>
        {component} {version}
      </Link>
    ),
  },
  {
    id: "state",
    title: "State",
    width: "9rem",
    cell: ({ promoted, yankedAt }) => <Status of={yankedAt ? "yanked" : promoted ? "promoted" : "registered"} />,
  },
  { id: "guard", title: "Guard", width: "9.5rem", cell: ({ rollout }) => <Status of={rollout.state} /> },
  {
    id: "done",
    title: "Updated",
    width: "7rem",
    isMinor: true,
    cell: ({ rollout }) => rollout.succeeded.toLocaleString(),
  },
  {
    id: "failed",
    title: "Failed",
    width: "6rem",
    isMinor: true,
    cell: ({ rollout }) => rollout.failed.toLocaleString(),
  },
  {
    id: "signed",
    title: "Signed",
    width: "8rem",
    isMinor: true,
    cell: ({ signed, untrusted }) => (untrusted ? <Status of="not trusted" tone="bad" /> : signed ? "yes" : "no"),
  },
  { id: "made", title: "Since", width: "9rem", isMinor: true, cell: ({ createdAt }) => <Time at={createdAt} /> },
  {
    id: "actions",
    title: "Actions",
    width: "5rem",
    isEnd: true,
    as: "end",
    cell: (release) => (
      <RowOperations of={release} operations={releaseOperations} name={`${release.component} ${release.version}`} />
    ),
  },
];

const states = asOptions(["running", "paused", "halted", "completed", "cancelled"]);
const kinds = [
  ["guard", "guards"],
  ["staged", "staged"],
] as const;

/** Rollouts, newest first. */
export function Rollouts() {
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
          cell: ({ id, component, version }) => (
            <Link {...toRecord("/releases/rollouts/$id", { id })}>
              {component} {version}
            </Link>
          ),
        },
        { id: "kind", title: "Kind", width: "7rem", isMinor: true, cell: ({ kind }) => kind },
        { id: "state", title: "State", width: "9.5rem", cell: (rollout) => <RolloutStatus of={rollout} /> },
        { id: "share", title: "Share", width: "6rem", isMinor: true, cell: ({ percent }) => `${percent} %` },
        { id: "inFlight", title: "In flight", width: "7rem", cell: ({ inFlight }) => inFlight.toLocaleString() },
        { id: "done", title: "Updated", width: "7rem", cell: ({ succeeded }) => succeeded.toLocaleString() },
        { id: "failed", title: "Failed", width: "6rem", cell: ({ failed }) => failed.toLocaleString() },
      ]}
      empty={
        <EmptyState title="No rollout yet.">
          <p>One guards each promoted release; a staged one offers a version to a part of the devices first.</p>
          {create}
        </EmptyState>
      }
    />
  );
}
