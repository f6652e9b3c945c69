import { Link } from "@tanstack/react-router";
import { Marked, RowName } from "../../parts/action-name.tsx";
import type { AuditRow } from "../../parts/audit-line.tsx";
import type { Column } from "../../parts/column.ts";
import { to, toRecord } from "../../parts/links.ts";
import { NameOf } from "../../parts/name-of.tsx";
import { Status } from "../../parts/status.tsx";
import { Instant } from "../../parts/time.tsx";
import type { useFilters } from "../../parts/use-filters.ts";
import { isByUser, words } from "../../rules/action-words.ts";
import { rowInShort } from "../../rules/changed-fields.ts";
import { claimedActorIn } from "../../rules/claimed-actor.ts";
import { namedTypes } from "../../rules/row-sentence.ts";
import { sensitiveMark } from "../../rules/sensitive-actions.ts";
import styles from "./audit.module.css";

type ColumnsProps = { orgId: string | undefined; change: ReturnType<typeof useFilters>[1] };

/** What was done, by whom, to what and when; `change` narrows the list to one actor. */
export function auditColumns({ orgId, change }: ColumnsProps): Column<AuditRow>[] {
  return [
    {
      id: "action",
      title: "Action",
      exported: ["action", "result"],
      width: "23rem",
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
