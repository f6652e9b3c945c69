import { useCallback } from "react";
import { newAlertOfFilters } from "../../operations/new-alert.tsx";
import { OperationButton } from "../../operations/operation-buttons.tsx";
import type { AuditRow } from "../../parts/audit-line.tsx";
import { ExportButton } from "../../parts/export-button.tsx";
import bar from "../../parts/filter-bar.module.css";
import { asOptions } from "../../parts/filter-bar.tsx";
import { ListPage } from "../../parts/list-page.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { type Filters, pickFilters, useFilters } from "../../parts/use-filters.ts";
import { useZone, zoneName } from "../../parts/zone.ts";
import { isByUser } from "../../rules/action-words.ts";
import { alertQueryOf } from "../../rules/alert-body.ts";
import { categories, results } from "../../rules/audit-filters.ts";
import { rowInShort } from "../../rules/changed-fields.ts";
import { dayHeading } from "../../rules/day-heading.ts";
import { filtersOfShown, foldedRows, nothing, rowChoices, shownRows } from "../../rules/machine-actions.ts";
import { auditColumns } from "./audit-columns.tsx";

/** Filters that list, search and export know; the text is one of the search alone. */
const commonFilters = [
  "orgId",
  "user",
  "actorId",
  "actorType",
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

const actors = [
  ["user", "people"],
  ["api_key", "API keys"],
  ["agent", "devices"],
  ["system", "Muster"],
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
        { name: "actorType", label: "By", options: actors },
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
      columns={auditColumns({ orgId, change })}
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
