import { Link2, Terminal } from "lucide-react";
import { type BodyOf, useGet } from "../../api/queries.ts";
import { Controls, Facts, Json, Part, Section } from "../../parts/facts.tsx";
import { Fold } from "../../parts/fold.tsx";
import { CopyButton } from "../../parts/list-head.tsx";
import { LongCode } from "../../parts/long-text.tsx";
import { Neighbours } from "../../parts/neighbours.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import plain from "../../parts/plain-table.module.css";
import { PlainTable } from "../../parts/plain-table.tsx";
import { RecordLink } from "../../parts/record-link.tsx";
import { Sides } from "../../parts/sides.tsx";
import { FailureState, Loading } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import { ExactInstant } from "../../parts/time.tsx";
import { useRecordId } from "../../parts/use-filters.ts";
import { rowTitle } from "../../rules/action-words.ts";
import { sidesOf } from "../../rules/changed-fields.ts";
import { changesOf } from "../../rules/changes.ts";
import { curlOf } from "../../rules/curl.ts";
import { isDeleting, namedTypes, recordedFacts, rowSentence } from "../../rules/row-sentence.ts";
import { ActorAround, RecordHistory } from "./row-around.tsx";
import { NotVerified, Verification } from "./verification.tsx";
import { WhoAndWhere } from "./who-and-where.tsx";

type Entry = BodyOf<"/api/v1/audit-logs/logs/{id}">;

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
  return (
    <>
      <PageTitle
        title={rowTitle(data)}
        status={data.result === "success" ? undefined : <Status of={data.result} />}
        sub={<Said of={data} />}
        actions={<Neighbours id={id} words={["Newer entry", "Older entry"]} />}
      />
      {data.orgId ? <NotVerified orgId={data.orgId} seq={data.seq} /> : null}
      <Sides
        main={
          <>
            <Sheet of={data} />
            <RecordHistory of={data} />
          </>
        }
        side={
          <>
            <ActorAround of={data} />
            <Seal of={data} />
          </>
        }
      />
    </>
  );
}

/** What changed and what was recorded, then who did it from where, and the record as it was stored. */
function Sheet({ of: data }: { of: Entry }) {
  const { before, after } = sidesOf(data.details);
  const changes = changesOf(before ?? {}, after ?? {});
  const isNew = Object.keys(before ?? {}).length === 0;
  const facts = recordedFacts(data.details);
  const title = changes.length === 0 ? "What was recorded" : isNew ? "What it began with" : "What changed";
  return (
    <Section title={title}>
      {changes.length > 0 ? (
        <PlainTable columns={isNew ? ["Field", "Value"] : ["Field", "Before", "After"]} isAboveFacts>
          {changes.map((change) => (
            <tr key={change.field}>
              <th scope="row">{change.field}</th>
              {isNew ? null : (
                <td className={plain.message}>
                  <del>{textOf(change.before)}</del>
                </td>
              )}
              <td className={plain.message}>{isNew ? textOf(change.after) : <ins>{textOf(change.after)}</ins>}</td>
            </tr>
          ))}
        </PlainTable>
      ) : null}
      {facts.length > 0 ? (
        <Part>
          <Facts of={facts} />
        </Part>
      ) : null}
      <Part>
        <WhoAndWhere of={data} />
      </Part>
      <Fold title="Details as JSON, link and curl">
        <Json value={data.details} label="Details of the row" />
        <Controls>
          <Copies of={data} />
        </Controls>
      </Fold>
    </Section>
  );
}

const textOf = (value: unknown) =>
  value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value);

const Copies = ({ of: { id, details } }: { of: Entry }) => (
  <>
    <CopyButton what="link" text={() => location.href} icon={<Link2 size={15} aria-hidden />} />
    <CopyButton
      what="as curl"
      text={() => curlOf(location.origin, `/api/v1/audit-logs/logs/${id}`, {})}
      icon={<Terminal size={15} aria-hidden />}
    />
    <CopyButton what="record" text={() => JSON.stringify(details, null, 2)} />
  </>
);

/** Its position in the chain, and what links it to the row before. */
function Seal({ of: row }: { of: Entry }) {
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

/** Who did what to what, when, and from where. */
function Said({ of: row }: { of: Entry }) {
  const { who, did, name } = rowSentence(row);
  const orgId = row.orgId ?? undefined;
  const { id, type } = row.resource;
  const isNamed = name !== null || namedTypes.includes(type);
  const actor = { type: row.actorType, id: row.user.id, name: row.user.name ?? row.user.email };
  return (
    <span>
      <b>
        {actor.name || actor.type === "agent" ? <RecordLink of={actor} orgId={orgId} /> : who.replace(/:$/, "")}
        {who.endsWith(":") ? ":" : null}
      </b>{" "}
      {did}{" "}
      {id === row.user.id ? null : id && isNamed ? (
        <b>
          <RecordLink of={{ type, id, name }} orgId={orgId} isGone={isDeleting(row)} />
        </b>
      ) : (
        <b>{name}</b>
      )}{" "}
      · <ExactInstant at={row.timestamp} />
      {row.ipAddress ? ` · from ${row.ipAddress}` : null}
    </span>
  );
}
