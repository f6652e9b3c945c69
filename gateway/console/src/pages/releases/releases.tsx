import type { ItemOf } from "@muster/client";
import { Link } from "@tanstack/react-router";
import { useGet } from "../../api/queries.ts";
import { anywhere } from "../../operations/chosen.tsx";
import { actionsColumn, nextColumn, OperationButton } from "../../operations/operation-buttons.tsx";
import { publishVersion } from "../../operations/publish-version.tsx";
import { releaseOperations } from "../../operations/releases.tsx";
import { review } from "../../operations/review.ts";
import { rolloutOperations } from "../../operations/rollouts.tsx";
import { newRollout } from "../../operations/settings.tsx";
import { syncVersion } from "../../operations/sync-version.tsx";
import { causeColumn } from "../../parts/cause.tsx";
import { asOptions } from "../../parts/filter-bar.tsx";
import { to, toRecord } from "../../parts/links.ts";
import { ListPage } from "../../parts/list-page.tsx";
import { useMe } from "../../parts/me.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import type { Column } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";
import { rolloutHealth, tellingRollout } from "../../rules/rollout-health.ts";
import type { Me } from "../../rules/why-not.ts";
import { RolloutStatus } from "./rollout-status.tsx";

/** Counts of this age are shown again without another request. */
const freshMs = 300_000;
const components = asOptions(["agent", "watchdog", "helper"]);

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
  ) : (
    <span className="soft" data-tip="Devices install it by a pin or a rollout alone">
      not promoted
    </span>
  );
}

const releaseColumns = (me: Me, rollouts: readonly Rollout[]): Column<Release>[] => [
  {
    id: "version",
    title: "Version",
    width: "9.5rem",
    cell: (release) => (
      <Link {...toRecord("/releases/rollouts/$id", { id: rolloutOf(release, rollouts)?.id ?? release.rollout.id })}>
        {release.component} {release.version}
      </Link>
    ),
  },
  {
    id: "state",
    title: "State",
    width: "7.5rem",
    cell: stateOf,
  },
  {
    id: "rollout",
    title: "Rollout",
    width: "8.5rem",
    as: "state",
    cell: (release) => {
      const rollout = rolloutOf(release, rollouts);
      return rollout ? <RolloutStatus of={rollout} /> : null;
    },
  },
  {
    id: "runs",
    title: "Devices",
    width: "6rem",
    isMinor: true,
    cell: (release) => (release.component === "agent" ? <RunsOn version={release.version} /> : null),
  },
  {
    id: "done",
    title: "Updates",
    width: "9.5rem",
    isMinor: true,
    isUsual: ({ rollout }) => offeredBy(rollout) === 0,
    cell: ({ rollout }) => <Updates of={rollout} />,
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

type Counts = { succeeded: number; failed: number; inFlight: number };
const offeredBy = ({ succeeded, failed, inFlight }: Counts) => succeeded + failed + inFlight;

/** How many devices run a version, as a link to them; a list requests it for each row that comes into sight. */
function RunsOn({ version }: { version: string }) {
  const query = { agentVersion: version, limit: "1" };
  const { data } = useGet("/api/v1/devices", { params: { query } }, { freshMs });
  const count = data?.pagination.total;
  if (count === undefined || count === null) return null;
  return (
    <Link {...to("/devices", { agentVersion: version })} className="number">
      {count.toLocaleString()}
    </Link>
  );
}

/** How many devices of those that were offered a version run it, and how many failed. */
function Updates({ of }: { of: Counts }) {
  const offered = offeredBy(of);
  if (offered === 0) return null;
  return (
    <span className="number">
      {of.succeeded.toLocaleString()} of {offered.toLocaleString()}
      {of.failed > 0 ? (
        <>
          , <span className="bad">{of.failed.toLocaleString()} failed</span>
        </>
      ) : null}
    </span>
  );
}

/** Why a rollout halted, as a whole or in a part. */
const causeOf = ({ haltedParts, reason }: Rollout) => haltedParts[0]?.reason ?? reason;

/** How many updates failed, in the colour of a failure once there are some. */
const Failures = ({ of: { failed } }: { of: { failed: number } }) => (
  <span className={failed > 0 ? "bad" : undefined}>{failed.toLocaleString()}</span>
);

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
          title: "Updated",
          width: "7rem",
          isMinor: true,
          cell: ({ succeeded }) => succeeded.toLocaleString(),
        },
        { id: "failed", title: "Failed", width: "6rem", isMinor: true, cell: (rollout) => <Failures of={rollout} /> },
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
