import { Link } from "@tanstack/react-router";
import { toRecord } from "../../parts/links.ts";
import { ListPage } from "../../parts/list-page.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import { Time } from "../../parts/time.tsx";

const components = ["agent", "watchdog", "helper"].map((each) => [each, each] as const);

/** Versions of the programs on devices, newest first. */
export function Releases() {
  return (
    <ListPage
      title="Releases"
      section="releases"
      path="/api/v1/agent-versions"
      filters={["component"]}
      choices={[{ name: "component", label: "Program", options: components }]}
      everyMs={30_000}
      columns={[
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
          cell: ({ promoted, yankedAt }) =>
            yankedAt ? "yanked" : promoted ? "promoted" : <span className="soft">registered</span>,
        },
        { id: "guard", title: "Guard", width: "8rem", cell: ({ rollout }) => <Status of={rollout.state} /> },
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
        { id: "signed", title: "Signed", width: "6rem", isMinor: true, cell: ({ signed }) => (signed ? "yes" : "no") },
        { id: "made", title: "Since", width: "9rem", cell: ({ createdAt }) => <Time at={createdAt} /> },
      ]}
      empty={
        <EmptyState title="There is no release yet.">
          <p>Releases come from the configured source, or are registered through the API.</p>
        </EmptyState>
      }
    />
  );
}

const states = ["running", "paused", "halted", "completed", "cancelled"].map((each) => [each, each] as const);
const kinds = [
  ["guard", "guards"],
  ["staged", "staged"],
] as const;

/** Rollouts, newest first. */
export function Rollouts() {
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
        { id: "state", title: "State", width: "8rem", cell: ({ state }) => <Status of={state} /> },
        { id: "share", title: "Share", width: "6rem", isMinor: true, cell: ({ percent }) => `${percent} %` },
        { id: "inFlight", title: "In flight", width: "7rem", cell: ({ inFlight }) => inFlight.toLocaleString() },
        { id: "done", title: "Updated", width: "7rem", cell: ({ succeeded }) => succeeded.toLocaleString() },
        { id: "failed", title: "Failed", width: "6rem", cell: ({ failed }) => failed.toLocaleString() },
      ]}
      empty={
        <EmptyState title="No rollout yet.">
          <p>One starts when a release is promoted, or is started through the API for a part of the devices.</p>
        </EmptyState>
      }
    />
  );
}
