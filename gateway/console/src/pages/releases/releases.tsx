import type { ItemOf } from "@muster/client";
import { Link } from "@tanstack/react-router";
import { useGet } from "../../api/queries.ts";
import { anywhere } from "../../operations/chosen.tsx";
import { actionsColumn, nextColumn, OperationButton } from "../../operations/operation-buttons.tsx";
import { publishVersion } from "../../operations/publish-version.tsx";
import { releaseOperations } from "../../operations/releases.tsx";
import { review } from "../../operations/review.ts";
import { syncVersion } from "../../operations/sync-version.tsx";
import { causeColumn } from "../../parts/cause.tsx";
import { to, toRecord } from "../../parts/links.ts";
import { ListNote } from "../../parts/list-note.tsx";
import { ListPage } from "../../parts/list-page.tsx";
import { useMe, useWhyNot } from "../../parts/me.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import type { Column } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";
import { fleetStatuses } from "../../rules/fleet-size.ts";
import { rolloutHealth, tellingRollout } from "../../rules/rollout-health.ts";
import { shareOf } from "../../rules/share-of.ts";
import type { Me } from "../../rules/why-not.ts";
import { causeOf, components, offeredBy, Updates } from "./rollout-cells.tsx";
import { RolloutStatus } from "./rollout-status.tsx";

/** Counts of this age are shown again without another request. */
const freshMs = 300_000;

/** Versions of the programs on devices, newest first. */
export function Releases() {
  const me = useMe();
  const rollouts = useGet(
    "/api/v1/agent-versions/rollouts",
    { params: { query: { limit: "100", skipCount: "true" } } },
    { everyMs: 30_000 },
  );
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
      segments={
        <ListNote>Devices install the promoted version, unless a pin or a rollout gives them another one.</ListNote>
      }
      filters={["component"]}
      choices={[{ name: "component", label: "Program", options: components }]}
      everyMs={30_000}
      actions={create}
      columns={releaseColumns(me, rollouts.data?.data ?? [])}
      empty={
        <EmptyState title="There is no release yet.">
          <p>A release comes from a configured source, or is published by its signed manifest.</p>
          <div>{create}</div>
        </EmptyState>
      }
    />
  );
}

type Release = ItemOf<"/api/v1/agent-versions">;
type Rollout = ItemOf<"/api/v1/agent-versions/rollouts">;

/** The rollout that says how a version is. The guard of one that is not promoted has nothing to guard while it runs. */
const rolloutOf = ({ id, promoted }: Release, rollouts: readonly Rollout[]) =>
  tellingRollout(
    rollouts.filter(
      ({ versionId, kind, state }) => versionId === id && (promoted || kind === "staged" || state !== "running"),
    ),
  );

/** Leads to the rollout that keeps a version from the devices. */
const reviewOf = (rollouts: readonly Rollout[]) =>
  review<Release>({
    id: "release.review",
    needs: "GET /api/v1/agent-versions/rollouts/{id}/progress",
    isNext: (release) => {
      const rollout = rolloutOf(release, rollouts);
      return rollout !== null && rolloutHealth(rollout).tone === "bad";
    },
    leads: (release) =>
      toRecord("/releases/rollouts/$id", { id: rolloutOf(release, rollouts)?.id ?? release.rollout.id }),
  });

function stateOf({ promoted, yankedAt }: Release) {
  if (yankedAt) return <Status of="yanked" />;
  return promoted ? (
    <span data-tip="The version that devices install unless a pin or a rollout gives them another one">
      <Status of="promoted" tone="good" />
    </span>
  ) : null;
}

const releaseColumns = (me: Me, rollouts: readonly Rollout[]): Column<Release>[] => [
  {
    id: "version",
    title: "Version",
    width: "8rem",
    cell: (release) => (
      <Link {...toRecord("/releases/rollouts/$id", { id: rolloutOf(release, rollouts)?.id ?? release.rollout.id })}>
        {release.component} {release.version}
      </Link>
    ),
  },
  {
    id: "state",
    title: "State",
    width: "7rem",
    as: "state",
    cell: stateOf,
  },
  {
    id: "rollout",
    title: "Rollout",
    width: "9.5rem",
    as: "state",
    cell: (release) => {
      const rollout = rolloutOf(release, rollouts);
      return rollout ? <RolloutStatus of={rollout} /> : null;
    },
  },
  {
    id: "runs",
    title: "Devices",
    width: "7.5rem",
    isMinor: true,
    cell: (release) => (release.component === "agent" ? <RunsOn version={release.version} /> : null),
  },
  {
    id: "done",
    title: "Updates",
    width: "12.5rem",
    isMinor: true,
    isUsual: ({ rollout }) => offeredBy(rollout) === 0,
    cell: ({ rollout }) => <Updates of={rollout} isBrief />,
  },
  causeColumn<Release>((release) => {
    const rollout = rolloutOf(release, rollouts);
    return rollout && rolloutHealth(rollout).tone === "bad" ? causeOf(rollout) : null;
  }),
  {
    id: "signed",
    title: "Signed",
    width: "8rem",
    isMinor: true,
    // Without a signature and trusted all the same, none is expected.
    isUsual: ({ untrusted }) => !untrusted,
    cell: ({ signed, untrusted }) => (untrusted ? <Status of="not trusted" tone="bad" /> : signed ? "yes" : "no"),
  },
  {
    id: "made",
    title: "Since",
    width: "9rem",
    as: "fact",
    isExtra: true,
    cell: ({ createdAt }) => <Time at={createdAt} />,
  },
  nextColumn(me, [reviewOf(rollouts)], ({ component, version }) => `${component} ${version}`),
  actionsColumn(releaseOperations, (release) => `${release.component} ${release.version}`),
];

/** How many devices in use run a version, as a link to them; a list requests it for each row that comes into sight. */
function RunsOn({ version }: { version: string }) {
  const count = useDeviceCount({ agentVersion: version });
  const all = useDeviceCount({});
  if (count === null) return null;
  return (
    <>
      <Link {...to("/devices", { agentVersion: version })} className="number">
        {count.toLocaleString()}
      </Link>{" "}
      {all ? <span className="soft number">· {shareOf(count, all)}</span> : null}
    </>
  );
}

/** How many devices in use match; null while that is not known. */
function useDeviceCount(filters: { agentVersion?: string }): number | null {
  const mayRead = useWhyNot("GET /api/v1/devices") === null;
  const query = { ...filters, status: fleetStatuses.join(","), limit: "1" };
  const { data } = useGet("/api/v1/devices", { params: { query } }, { freshMs, enabled: mayRead });
  return data?.pagination.total ?? null;
}
