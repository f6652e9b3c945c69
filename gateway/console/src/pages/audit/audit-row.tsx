import { ChevronDown, ChevronRight } from "lucide-react";
import { useState } from "react";
import { type BodyOf, useGet } from "../../api/queries.ts";
import { Facts, Json, Section } from "../../parts/facts.tsx";
import { CopyButton } from "../../parts/list-head.tsx";
import { LongCode } from "../../parts/long-text.tsx";
import { Neighbours } from "../../parts/neighbours.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import plain from "../../parts/plain-table.module.css";
import { PlainTable } from "../../parts/plain-table.tsx";
import { FailureState, Loading } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import { ExactInstant, Instant } from "../../parts/time.tsx";
import { useRecordId } from "../../parts/use-filters.ts";
import { rowTitle } from "../../rules/action-words.ts";
import { changesOf } from "../../rules/changes.ts";
import { claimedActorIn } from "../../rules/claimed-actor.ts";
import { curlOf } from "../../rules/curl.ts";
import { SealState } from "./last-verified.tsx";
import { Verification } from "./verification.tsx";

type Details = { before?: Record<string, unknown>; after?: Record<string, unknown> };

/** One audit row: who, what, from where, what changed, and its position in the chain. */
export function AuditRow() {
  const id = useRecordId("/audit/$id");
  const row = useGet("/api/v1/audit-logs/logs/{id}", { params: { path: { id } } });
  if (row.error) {
    return (
      <>
        <PageTitle title="Audit row" />
        <FailureState failure={row.error.failure} onRetry={() => void row.refetch()} />
      </>
    );
  }
  if (!row.data) return <Loading what="Loading the row" />;
  const { data } = row;
  const details = data.details as Details & { changes?: Details };
  const { before, after } = details.changes ?? details;
  const changes = changesOf(before ?? {}, after ?? {});
  const claimedActor = claimedActorIn(data.details);
  const text = (value: unknown) =>
    value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value);
  return (
    <>
      <PageTitle
        title={rowTitle(data)}
        status={
          <>
            <Status of={data.result} {...(data.result === "success" ? { tone: "off" } : {})} />{" "}
            {data.orgId ? <SealState orgId={data.orgId} /> : null}
          </>
        }
        sub={<By of={data} />}
        actions={<Neighbours id={id} words={["Newer entry", "Older entry"]} />}
      />
      {changes.length > 0 ? (
        <Section title="What changed">
          <PlainTable columns={["Field", "Before", "After"]}>
            {changes.map((change) => (
              <tr key={change.field}>
                <th scope="row">{change.field}</th>
                <td className={plain.message}>{text(change.before)}</td>
                <td className={plain.message}>{text(change.after)}</td>
              </tr>
            ))}
          </PlainTable>
        </Section>
      ) : null}
      <Section
        title="What happened"
        action={
          <div>
            <CopyButton what="link" text={() => location.href} />{" "}
            <CopyButton what="as curl" text={() => curlOf(location.origin, `/api/v1/audit-logs/logs/${id}`, {})} />
          </div>
        }
      >
        <Facts
          of={[
            ["Action", <code key="action">{data.action}</code>],
            ["Actor", data.user.email ?? data.user.name ?? data.actorType],
            ["Kind of actor", data.actorType],
            ...(claimedActor === null ? [] : ([["Claimed actor", claimedActor]] as const)),
            ["Time", <ExactInstant key="time" at={data.timestamp} />],
            ["Resource", `${data.resource.type} ${data.resource.name ?? data.resource.id ?? ""}`],
            ["Category", data.category],
            ["Address", data.ipAddress],
            ["Client", data.userAgent],
            ["Error", data.errorMessage],
          ]}
          isBrief
        />
      </Section>
      <Seal of={data} />
      <Raw details={data.details} />
    </>
  );
}

/** What the row holds besides its fields, as it was recorded. */
function Raw({ details }: { details: unknown }) {
  const [isOpen, open] = useState(false);
  const Chevron = isOpen ? ChevronDown : ChevronRight;
  return (
    <Section title="Raw record" action={<CopyButton what="record" text={() => JSON.stringify(details, null, 2)} />}>
      <div>
        <button type="button" aria-expanded={isOpen} onClick={() => open(!isOpen)}>
          <Chevron size={15} aria-hidden /> Details as JSON
        </button>
      </div>
      {isOpen ? <Json value={details} label="Details of the row" /> : null}
    </Section>
  );
}

/** Its position in the chain, and what links it to the row before. */
function Seal({ of: row }: { of: BodyOf<"/api/v1/audit-logs/logs/{id}"> }) {
  return (
    <Section title="Seal">
      <Facts
        of={[
          ["Position in its chain", `#${row.seq.toLocaleString()}`],
          ["Checksum", <LongCode key="sum" of={row.checksum} what="checksum" />],
          [
            "Previous checksum",
            row.prevChecksum === null ? (
              "the earliest row that is kept"
            ) : (
              <LongCode key="prev" of={row.prevChecksum} what="previous checksum" />
            ),
          ],
        ]}
      />
      {row.orgId ? <Verification orgId={row.orgId} seq={row.seq} /> : null}
    </Section>
  );
}

/** Who did it, and when. */
const By = ({ of: { user, actorType, timestamp } }: { of: BodyOf<"/api/v1/audit-logs/logs/{id}"> }) => (
  <span>
    {user.name ?? user.email ?? actorType} · <Instant at={timestamp} />
  </span>
);
