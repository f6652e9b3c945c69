import { ChevronDown, ChevronRight, Link2, Terminal } from "lucide-react";
import { useState } from "react";
import { type BodyOf, useGet } from "../../api/queries.ts";
import { Facts, Json, Section } from "../../parts/facts.tsx";
import { CopyButton } from "../../parts/list-head.tsx";
import { LongCode } from "../../parts/long-text.tsx";
import { NameOf } from "../../parts/name-of.tsx";
import { Neighbours } from "../../parts/neighbours.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import plain from "../../parts/plain-table.module.css";
import { PlainTable } from "../../parts/plain-table.tsx";
import { Sides } from "../../parts/sides.tsx";
import { FailureState, Loading } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import { ExactInstant } from "../../parts/time.tsx";
import { useRecordId } from "../../parts/use-filters.ts";
import { rowTitle, words } from "../../rules/action-words.ts";
import { sidesOf } from "../../rules/changed-fields.ts";
import { changesOf } from "../../rules/changes.ts";
import { claimedActorIn } from "../../rules/claimed-actor.ts";
import { curlOf } from "../../rules/curl.ts";
import { reasonSentence } from "../../rules/reason-sentences.ts";
import { namedTypes, recordedFacts, rowSentence } from "../../rules/row-sentence.ts";
import { Verification } from "./verification.tsx";

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
  const { before, after } = sidesOf(data.details);
  const changes = changesOf(before ?? {}, after ?? {});
  const text = (value: unknown) =>
    value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value);
  const isNew = Object.keys(before ?? {}).length === 0;
  const facts = recordedFacts(data.details);
  return (
    <>
      <PageTitle
        title={rowTitle(data)}
        status={data.result === "success" ? undefined : <Status of={data.result} />}
        sub={<Said of={data} />}
        actions={<Neighbours id={id} words={["Newer entry", "Older entry"]} />}
      />
      <Sides
        main={
          <>
            {changes.length > 0 ? (
              <Section title={isNew ? "What it began with" : "What changed"}>
                <PlainTable columns={isNew ? ["Field", "Value"] : ["Field", "Before", "After"]}>
                  {changes.map((change) => (
                    <tr key={change.field}>
                      <th scope="row">{change.field}</th>
                      {isNew ? null : <td className={plain.message}>{text(change.before)}</td>}
                      <td className={plain.message}>{text(change.after)}</td>
                    </tr>
                  ))}
                </PlainTable>
              </Section>
            ) : null}
            {facts.length > 0 ? (
              <Section title="What was recorded">
                <Facts of={facts} />
              </Section>
            ) : null}
            <Raw details={data.details} />
          </>
        }
        side={
          <>
            <WhoAndWhere of={data} />
            <Seal of={data} />
          </>
        }
      />
    </>
  );
}

/** Who did it, from where, and what the API calls it. */
function WhoAndWhere({ of: data }: { of: BodyOf<"/api/v1/audit-logs/logs/{id}"> }) {
  const claimedActor = claimedActorIn(data.details);
  return (
    <Section title="Who and where" action={<Copies id={data.id} />}>
      <Facts
        of={[
          ["Actor", data.user.email ?? data.user.name ?? data.actorType],
          ["Kind of actor", data.actorType],
          ...(claimedActor === null ? [] : ([["Claimed actor", claimedActor]] as const)),
          ["Address", data.ipAddress],
          ["Client", data.userAgent],
          [
            "Resource",
            <span key="resource">
              {words(data.resource.type)} {data.resource.name ?? nameOf(data) ?? data.resource.id}
            </span>,
          ],
          ["Action", <code key="action">{data.action}</code>],
          ["Category", data.category],
          ["Error", data.errorMessage && reasonSentence(data.errorMessage)],
        ]}
        isBrief
      />
    </Section>
  );
}

const Copies = ({ id }: { id: string }) => (
  <div>
    <CopyButton what="link" text={() => location.href} isSmall icon={<Link2 size={15} aria-hidden />} />
    <CopyButton
      what="as curl"
      text={() => curlOf(location.origin, `/api/v1/audit-logs/logs/${id}`, {})}
      isSmall
      icon={<Terminal size={15} aria-hidden />}
    />
  </div>
);

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

/** The name of a resource that the row has by its id alone. */
const nameOf = ({ resource: { id, type } }: BodyOf<"/api/v1/audit-logs/logs/{id}">) =>
  id && namedTypes.includes(type) ? <NameOf id={id} /> : null;

/** Who did what to what, when, and from where. */
function Said({ of: row }: { of: BodyOf<"/api/v1/audit-logs/logs/{id}"> }) {
  const { who, did, name } = rowSentence(row);
  const what = name ?? nameOf(row);
  return (
    <span>
      <b>{who}</b> {did} {what ? <b>{what}</b> : null} · <ExactInstant at={row.timestamp} />
      {row.ipAddress ? ` · from ${row.ipAddress}` : null}
    </span>
  );
}
