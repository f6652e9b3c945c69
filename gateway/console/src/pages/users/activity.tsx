import { Link } from "@tanstack/react-router";
import { type BodyOf, type Failed, useGet } from "../../api/queries.ts";
import { auditEvents } from "../../parts/audit-line.tsx";
import { EventList } from "../../parts/event-list.tsx";
import { Section } from "../../parts/facts.tsx";
import { to } from "../../parts/links.ts";
import { FailureState, Loading } from "../../parts/states.tsx";
import { foldedRows, machineActions } from "../../rules/machine-actions.ts";
import { rowText } from "../../rules/row-sentence.ts";
import { runsOf } from "../../rules/runs.ts";
import { sessionActions } from "../../rules/session-actions.ts";
import { useAccountRows } from "./account-rows.ts";

const [mostDone, mostChanges, readMost] = [8, 6, "50"];

type Rows = BodyOf<"/api/v1/audit-logs/logs">["data"];
type Account = { id: string; orgId: string | null };
type ActivityProps = {
  title: string;
  /** Those that say the same after one another are one line. */
  rows: Rows | undefined;
  most: number;
  read: { error: Failed | null; isPending: boolean; refetch(): Promise<unknown> };
  /** Filters of the audit trail that find all of them. */
  all: { actorId: string } | { resourceId: string };
  orgId: string | null;
  says: "who" | "what";
  /** Instead of rows. */
  none: string;
};

/** Audit rows as lines, and where all of them are. */
function Activity(props: ActivityProps) {
  const { title, rows = [], most, read, all, orgId, says, none } = props;
  const { error, isPending, refetch } = read;
  const search = { ...all, orgId: orgId ?? undefined };
  return (
    <Section
      title={title}
      action={rows.length > 0 ? <Link {...to("/audit", search)}>All in the audit trail</Link> : null}
    >
      {error ? <FailureState failure={error.failure} onRetry={() => void refetch()} /> : null}
      {isPending ? <Loading what="Loading the audit trail" /> : null}
      {rows.length === 0 && !isPending && !error ? <p className="soft">{none}</p> : null}
      <EventList of={auditEvents(runsOf(rows, rowText).slice(0, most), { orgId: search.orgId, says })} />
    </Section>
  );
}

/** What a person changed last, besides their own account. */
export function Done({ by: { id, orgId } }: { by: Account }) {
  const excludeActions = [...new Set([...machineActions, ...sessionActions])].join(",");
  const of = { actorId: id, ...foldedRows, excludeActions, ...(orgId ? { orgId } : {}) };
  const query = { ...of, limit: readMost, skipCount: "true" };
  const read = useGet("/api/v1/audit-logs/logs", { params: { query } });
  return (
    <Activity
      title="What they did"
      rows={read.data?.data.filter(({ resource }) => resource.id !== id)}
      most={mostDone}
      read={read}
      all={{ actorId: id }}
      orgId={orgId}
      says="what"
      none="No change besides those of their own account is recorded."
    />
  );
}

/** What was done to an account. Who created it stands among the account's facts. */
export function Changes({ of: account }: { of: Account }) {
  const read = useAccountRows(account);
  const rows = read.data?.data.filter(({ action, result }) => action !== "user.create" || result !== "success");
  return (
    <Activity
      title="Changes of the account"
      rows={rows}
      most={mostChanges}
      read={read}
      all={{ resourceId: account.id }}
      orgId={account.orgId}
      says="who"
      none="Nobody has changed it since it was created."
    />
  );
}
