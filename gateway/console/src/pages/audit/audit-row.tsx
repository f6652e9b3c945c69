import { Link2, Terminal } from "lucide-react";
import { type BodyOf, useGet } from "../../api/queries.ts";
import { Facts, Json, Part, Section } from "../../parts/facts.tsx";
import { Fold } from "../../parts/fold.tsx";
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
      <Sides main={<Sheet of={data} />} side={<Seal of={data} />} />
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
      <Fold title="Details as JSON" action={<Copies of={data} />}>
        <Json value={data.details} label="Details of the row" />
      </Fold>
    </Section>
  );
}

const textOf = (value: unknown) =>
  value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value);

/** Who did it, from where, and what the API calls it: what the line below the title does not say. */
function WhoAndWhere({ of: data }: { of: Entry }) {
  const claimedActor = claimedActorIn(data.details);
  const { who, name } = rowSentence(data);
  const actor = data.user.email ?? data.user.name ?? data.actorType;
  return (
    <Facts
      of={[
        ["Actor", who === actor ? null : actor],
        ["Kind of actor", data.actorType === "user" || who === data.actorType ? null : data.actorType],
        ...(claimedActor === null ? [] : ([["Claimed actor", claimedActor]] as const)),
        ["Client", data.userAgent],
        [
          "Resource",
          name === null && nameOf(data) === null ? (
            <span key="resource">
              {words(data.resource.type)} {data.resource.id}
            </span>
          ) : null,
        ],
        ["Action", <code key="action">{data.action}</code>],
        ["Category", data.category],
        ["Error", data.errorMessage && reasonSentence(data.errorMessage)],
      ]}
      isBrief
    />
  );
}

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

/** The name of a resource that the row has by its id alone. */
const nameOf = ({ resource: { id, type } }: Entry) => (id && namedTypes.includes(type) ? <NameOf id={id} /> : null);

/** Who did what to what, when, and from where. */
function Said({ of: row }: { of: Entry }) {
  const { who, did, name } = rowSentence(row);
  const what = name ?? nameOf(row);
  return (
    <span>
      <b>{who}</b> {did} {what ? <b>{what}</b> : null} · <ExactInstant at={row.timestamp} />
      {row.ipAddress ? ` · from ${row.ipAddress}` : null}
    </span>
  );
}
