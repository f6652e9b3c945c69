import type { ItemOf } from "@muster/client";
import { Link } from "@tanstack/react-router";
import { newAlertOfFilters } from "../../operations/new-alert.tsx";
import { OperationButton } from "../../operations/operation-buttons.tsx";
import { ActionName } from "../../parts/action-name.tsx";
import { ExportButton } from "../../parts/export-button.tsx";
import { asOptions } from "../../parts/filter-bar.tsx";
import { toRecord } from "../../parts/links.ts";
import { ListPage } from "../../parts/list-page.tsx";
import { NameOf } from "../../parts/name-of.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import type { Column } from "../../parts/table.tsx";
import { Instant } from "../../parts/time.tsx";
import { type Filters, pickFilters, useFilters } from "../../parts/use-filters.ts";
import { words } from "../../rules/action-words.ts";
import { alertQueryOf } from "../../rules/alert-body.ts";
import { categories, results } from "../../rules/audit-filters.ts";
import { claimedActorIn } from "../../rules/claimed-actor.ts";
import { machineActions } from "../../rules/machine-actions.ts";

/** Filters that list, search and export know; the text is one of the search alone. */
const commonFilters = [
  "orgId",
  "user",
  "actorId",
  "action",
  "actions",
  "category",
  "result",
  "resource",
  "resourceId",
  "excludeActions",
  "from",
  "to",
] as const;

/** Whoever looks for one of these gets every row of it. */
const narrowing = ["q", "user", "actorId", "action", "actions", "resource", "resourceId"] as const;
/** The name of no action: excluding it excludes nothing. */
const noAction = "none";

/** The audit trail: who did what, newest first. */
export function Audit() {
  const [filters, change] = useFilters();
  const { orgId, q } = filters;
  const isNarrowed = narrowing.some((name) => filters[name]);
  const defaults = isNarrowed ? {} : { excludeActions: machineActions.join(",") };
  return (
    <ListPage
      title="Audit"
      section="audit"
      noun="rows"
      {...(q ? {} : { everyMs: 10_000 })}
      path={q ? "/api/v1/audit-logs/search" : "/api/v1/audit-logs/logs"}
      filters={["q", ...commonFilters]}
      choices={[
        { name: "category", label: "Category", options: asOptions(categories) },
        { name: "result", label: "Result", options: asOptions(results) },
      ]}
      text={{ name: "q", label: "Action, actor, resource or details" }}
      labels={{
        action: "Action",
        user: "Actor",
        actorId: "Actor",
        actions: "Actions",
        resource: "Resource",
        resourceId: "Resource",
      }}
      hasTimeRange
      defaults={defaults}
      controls={
        isNarrowed ? null : (
          <label>
            <input
              type="checkbox"
              checked={filters.excludeActions === noAction}
              onChange={({ target }) => change({ excludeActions: target.checked ? noAction : undefined })}
            />{" "}
            Rows of machines, and sign-ins
          </label>
        )
      }
      actions={(shown) => (
        <>
          <AlertButton orgId={orgId} filters={pickFilters({ ...defaults, ...filters }, ["q", ...commonFilters])} />
          {q ? null : <ExportButton filters={pickFilters({ ...defaults, ...filters }, commonFilters)} shown={shown} />}
        </>
      )}
      columns={columns({ orgId, change })}
      empty={<EmptyState title="Nothing has been recorded yet." />}
    />
  );
}

/** Makes an alert of the filters on screen. */
function AlertButton({ orgId, filters }: { orgId: string | undefined; filters: Filters }) {
  const { excludeActions, ...others } = filters;
  const query = alertQueryOf(excludeActions === noAction ? others : filters);
  return <OperationButton of={{ orgId, query }} operation={newAlertOfFilters} />;
}

function columns({
  orgId,
  change,
}: {
  orgId: string | undefined;
  change: ReturnType<typeof useFilters>[1];
}): Column<ItemOf<"/api/v1/audit-logs/logs">>[] {
  return [
    {
      id: "action",
      title: "Action",
      exported: ["action"],
      cell: ({ id, action }) => (
        <Link {...toRecord("/audit/$id", { id }, { orgId })}>
          <ActionName of={action} />
        </Link>
      ),
    },
    {
      id: "actor",
      title: "Actor",
      exported: ["actorEmail", "actorName", "actorType"],
      width: "12rem",
      cell: ({ user, actorType, details }) => {
        const claimed = claimedActorIn(details);
        const name = user.name ?? user.email ?? (actorType === "agent" ? <NameOf id={user.id} /> : actorType);
        return (
          <>
            <button
              type="button"
              data-weight="link"
              onClick={() => change({ actorId: user.id })}
              data-tip="Only this actor's rows"
            >
              {name}
            </button>
            {claimed ? (
              <span className="soft" data-tip={claimed}>
                {" "}
                claims another
              </span>
            ) : null}
          </>
        );
      },
    },
    {
      id: "resource",
      title: "Resource",
      exported: ["resourceType", "resourceName"],
      width: "17rem",
      as: "note",
      cell: ({ resource: { type, name, id } }) => (
        <>
          <span className="soft">{words(type)}</span> {name ?? (type === "device" && id ? <NameOf id={id} /> : null)}
        </>
      ),
    },
    {
      id: "result",
      title: "Result",
      exported: ["result"],
      width: "7rem",
      as: "state",
      isUsual: ({ result }) => result === "success",
      // What went as it should has no word, so that the rest stands out.
      cell: ({ result }) => (result === "success" ? null : <Status of={result} />),
    },
    {
      id: "time",
      title: "Time",
      exported: ["timestamp"],
      width: "11rem",
      isEnd: true,
      as: "end",
      cell: ({ timestamp }) => <Instant at={timestamp} />,
    },
  ];
}
