import type { ItemOf } from "@muster/client";
import { Link } from "@tanstack/react-router";
import { useGet } from "../../api/queries.ts";
import { anywhere } from "../../operations/chosen.tsx";
import { actionsColumn, nextColumn, OperationButton } from "../../operations/operation-buttons.tsx";
import { publishVersion } from "../../operations/publish-version.tsx";
import { releaseOperations } from "../../operations/releases.tsx";
import { review } from "../../operations/review.ts";
import { syncVersion } from "../../operations/sync-version.tsx";
import { Marked } from "../../parts/action-name.tsx";
import { Cause } from "../../parts/cause.tsx";
import type { Column } from "../../parts/column.ts";
import { to, toRecord } from "../../parts/links.ts";
import { ListPage } from "../../parts/list-page.tsx";
import { useMe, useWhyNot } from "../../parts/me.tsx";
import { stateColumn } from "../../parts/state-column.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import { Time } from "../../parts/time.tsx";
import { briefly } from "../../rules/attention.ts";
import { fleetStatuses } from "../../rules/fleet-size.ts";
import { rolloutHealth, tellingRollout } from "../../rules/rollout-health.ts";
import { kindWords } from "../../rules/rollout-words.ts";
import { shareOf } from "../../rules/share-of.ts";
import type { Me } from "../../rules/why-not.ts";
import { causeOf, components, offeredBy, Track, Updates } from "./rollout-cells.tsx";

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
      note="Devices install the promoted version, unless a pin or a rollout gives them another one."
      filters={["component"]}
      choices={[{ name: "component", label: "Program", options: components }]}
      everyMs={30_000}
      isShort
      toneOf={(release) => (isHeld(release, rollouts.data?.data ?? []) ? "bad" : "good")}
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

/** Whether a rollout keeps a version from the devices. */
function isHeld(release: Release, rollouts: readonly Rollout[]): boolean {
  const rollout = rolloutOf(release, rollouts);
  return rollout !== null && rolloutHealth(rollout).tone === "bad";
}

/** Leads to the rollout that keeps a version from the devices. */
const reviewOf = (rollouts: readonly Rollout[]) =>
  review<Release>({
    id: "release.review",
    needs: "GET /api/v1/agent-versions/rollouts/{id}/progress",
    isNext: (release) => isHeld(release, rollouts),
    leads: (release) =>
      toRecord("/releases/rollouts/$id", { id: rolloutOf(release, rollouts)?.id ?? release.rollout.id }),
  });

/** Whether it is what devices install; nothing for the others, which are most. */
function markOf({ promoted, yankedAt }: Release) {
  if (yankedAt) return <Status of="yanked" />;
  return promoted ? <Status of="promoted" tone="good" /> : null;
}

/** How the rollout of a version is, and why it does not go well. */
const rolloutColumn = (rollouts: readonly Rollout[]) =>
  stateColumn<Release>({
    title: "Rollout",
    stateOf: (release) => {
      const rollout = rolloutOf(release, rollouts);
      return rollout ? rolloutHealth(rollout) : { word: "no rollout", tone: "off" };
    },
    noteOf: (release) => {
      const rollout = rolloutOf(release, rollouts);
      if (!rollout) return null;
      const cause = isHeld(release, rollouts) ? causeOf(rollout) : null;
      if (cause) return <Cause of={briefly(cause)} />;
      return rollout.kind === "guard" ? "Its guard watches all updates to it" : kindWords(rollout);
    },
  });

const releaseColumns = (me: Me, rollouts: readonly Rollout[]): Column<Release>[] => [
  {
    id: "version",
    title: "Version",
    width: "17rem",
    hasNote: true,
    cell: (release) => (
      <>
        <Marked by={markOf(release)}>
          <Link {...toRecord("/releases/rollouts/$id", { id: rolloutOf(release, rollouts)?.id ?? release.rollout.id })}>
            {release.component} {release.version}
          </Link>
        </Marked>
        <small>
          registered <Time at={release.createdAt} />
        </small>
      </>
    ),
  },
  rolloutColumn(rollouts),
  {
    id: "done",
    title: "Updates",
    width: "15.5rem",
    isMinor: true,
    hasNote: true,
    isUsual: ({ rollout }) => offeredBy(rollout) === 0,
    cell: (release) =>
      offeredBy(release.rollout) === 0 ? null : (
        <Updates of={release.rollout} isOfAll={(rolloutOf(release, rollouts)?.haltedParts.length ?? 0) > 0} />
      ),
  },
  {
    id: "runs",
    title: "Devices",
    width: "8rem",
    isMinor: true,
    hasNote: true,
    // The API counts devices by the version of their agent alone.
    cell: ({ component, version }) => (component === "agent" ? <RunsOn version={version} /> : null),
  },
  {
    id: "signed",
    title: "Signed",
    width: "7rem",
    isMinor: true,
    // Without a signature and trusted all the same, none is expected.
    isUsual: ({ untrusted }) => !untrusted,
    cell: ({ signed, untrusted }) => (untrusted ? <Status of="not trusted" tone="bad" /> : signed ? "yes" : "no"),
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
      {all ? <Track parts={[["good", count]]} of={all} /> : null}
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
