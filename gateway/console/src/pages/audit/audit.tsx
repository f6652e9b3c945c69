import { Link } from "@tanstack/react-router";
import { useCallback } from "react";
import { newAlertOfFilters } from "../../operations/new-alert.tsx";
import { OperationButton } from "../../operations/operation-buttons.tsx";
import { Marked, RowName } from "../../parts/action-name.tsx";
import type { AuditRow } from "../../parts/audit-line.tsx";
import type { Column } from "../../parts/column.ts";
import { ExportButton } from "../../parts/export-button.tsx";
import bar from "../../parts/filter-bar.module.css";
import { asOptions } from "../../parts/filter-bar.tsx";
import { to, toRecord } from "../../parts/links.ts";
import { ListPage } from "../../parts/list-page.tsx";
import { NameOf } from "../../parts/name-of.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import { Instant } from "../../parts/time.tsx";
import { type Filters, pickFilters, useFilters } from "../../parts/use-filters.ts";
import { useZone, zoneName } from "../../parts/zone.ts";
import { isByUser, words } from "../../rules/action-words.ts";
import { alertQueryOf } from "../../rules/alert-body.ts";
import { categories, results } from "../../rules/audit-filters.ts";
import { rowInShort } from "../../rules/changed-fields.ts";
import { claimedActorIn } from "../../rules/claimed-actor.ts";
import { dayHeading } from "../../rules/day-heading.ts";
import { filtersOfShown, foldedRows, nothing, rowChoices, shownRows } from "../../rules/machine-actions.ts";
import { namedTypes } from "../../rules/row-sentence.ts";
import { sensitiveMark } from "../../rules/sensitive-actions.ts";
import styles from "./audit.module.css";

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
  "target",
  "ipAddress",
  "sessionId",
  "excludeActions",
  "excludeTargetTypes",
  "from",
  "to",
] as const;

/** Whoever looks for one of these gets every row of it. */
const narrowing = [
  ...["q", "user", "actorId", "action", "actions"],
  ...["resource", "resourceId", "target", "ipAddress", "sessionId"],
] as const;

/** The audit trail: who did what, newest first, by day. */
export function Audit() {
  const [filters, change] = useFilters();
  const { orgId, q } = filters;
  const isNarrowed = narrowing.some((name) => filters[name]);
  const defaults = isNarrowed ? {} : foldedRows;
  const timeZone = zoneName(useZone());
  const ofDay = useCallback(({ timestamp }: AuditRow) => dayHeading(timestamp, new Date(), { timeZone }), [timeZone]);
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
        target: "About",
        ipAddress: "Address",
        sessionId: "Session",
      }}
      hasTimeRange
      defaults={defaults}
      controls={
        isNarrowed ? null : (
          <label className={bar.choice}>
            <span>Show</span>
            <select value={shownRows(filters)} onChange={({ target }) => change(filtersOfShown(target.value))}>
              {Object.entries(rowChoices).map(([name, title]) => (
                <option key={name} value={name}>
                  {title}
                </option>
              ))}
            </select>
          </label>
        )
      }
      groupOf={ofDay}
      {...(isNarrowed ? {} : { runOf: ofMachines })}
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

/** What Muster and devices do by themselves: one of many alike is enough. People's rows stand alone. */
const ofMachines = (row: AuditRow) => (isByUser(row) ? null : [row.action, row.result, rowInShort(row)].join(" "));

/** Makes an alert of the filters on screen. */
function AlertButton({ orgId, filters }: { orgId: string | undefined; filters: Filters }) {
  const { excludeActions, ...others } = filters;
  const query = alertQueryOf(excludeActions === nothing ? others : filters);
  return <OperationButton of={{ orgId, query }} operation={newAlertOfFilters} />;
}

function columns({
  orgId,
  change,
}: {
  orgId: string | undefined;
  change: ReturnType<typeof useFilters>[1];
}): Column<AuditRow>[] {
  return [
    {
      id: "action",
      title: "Action",
      exported: ["action", "result"],
      width: "26rem",
      cell: (row) => (
        <Marked by={markOf(row)}>
          <Link {...toRecord("/audit/$id", { id: row.id }, { orgId })}>
            <RowName of={row} isQuiet={!isByUser(row)} />
          </Link>
        </Marked>
      ),
    },
    {
      id: "actor",
      title: "Actor",
      exported: ["actorEmail", "actorName", "actorType"],
      width: "11rem",
      as: "note",
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
      as: "note",
      cell: (row) => (
        <>
          {/* What somebody did to themselves, or a device to itself, the actor says. */}
          {row.resource.id === row.user.id ? null : (
            <span className={styles.what}>
              <Resource of={row} orgId={orgId} />
            </span>
          )}
          {inShort(row)}
        </>
      ),
    },
    {
      id: "time",
      title: "Time",
      exported: ["timestamp"],
      width: "9.75rem",
      isEnd: true,
      as: "beside",
      cell: ({ timestamp }) => <Instant at={timestamp} />,
    },
  ];
}

/** What changed, or why. */
function inShort(row: AuditRow) {
  const words = rowInShort(row);
  return words ? (
    <span className={styles.short} data-tip={words}>
      {words}
    </span>
  ) : null;
}

/** What an auditor looks for; nothing on what went as it should and every day, so that the rest stands out. */
function markOf(row: AuditRow) {
  if (row.result !== "success") return <Status of={row.result} />;
  const mark = isByUser(row) ? sensitiveMark(row.action) : null;
  return mark === null ? null : <Status of="sensitive" as={mark} tone="off" />;
}

/** What a row is about; of a bulk job, its devices. */
function Resource({ of: { resource, action }, orgId }: { of: AuditRow; orgId: string | undefined }) {
  const { type, name, id } = resource;
  if (action === "device.bulk_job.create" && id) {
    return <Link {...to("/audit", { orgId, target: id })}>Each of its devices</Link>;
  }
  // The title says what kind of record it is.
  return name ?? (id && namedTypes.includes(type) ? <NameOf id={id} /> : <span className="soft">{words(type)}</span>);
}
