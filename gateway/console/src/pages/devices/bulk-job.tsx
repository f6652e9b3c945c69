import { Link } from "@tanstack/react-router";
import { type CSSProperties, useEffect } from "react";
import { type BodyOf, useForget, useGet } from "../../api/queries.ts";
import { bulkJobOperations } from "../../operations/bulk-jobs.tsx";
import { HeadOperations } from "../../operations/operation-buttons.tsx";
import { Facts, Section } from "../../parts/facts.tsx";
import { to, toRecord } from "../../parts/links.ts";
import { NameOf } from "../../parts/name-of.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { PlainTable } from "../../parts/plain-table.tsx";
import { RecordState } from "../../parts/record-state.tsx";
import { Instant, Time } from "../../parts/time.tsx";
import { useRecordId } from "../../parts/use-filters.ts";
import { failureSentence } from "../../rules/failure-sentence.ts";
import { isId } from "../../rules/ids.ts";
import { jobTitle, listFiltersOf } from "../../rules/job-texts.ts";
import styles from "./bulk-job.module.css";

type Job = BodyOf<"/api/v1/devices/bulk-jobs/{id}">;

const isEnded = ({ status }: Job) => status === "done" || status === "cancelled";

const everyMs = (job: Job | undefined) => (job && isEnded(job) ? false : 2_000);

/** A job that changes all devices of a filter: how far it is, and which were refused, with the reason. */
export function BulkJobPage() {
  const id = useRecordId("/devices/bulk-jobs/$id");
  const job = useGet("/api/v1/devices/bulk-jobs/{id}", { params: { path: { id } } }, { everyMs });
  const forget = useForget();
  const hasEnded = job.data !== undefined && isEnded(job.data);
  useEffect(() => {
    if (hasEnded) void forget("/api/v1/devices/summary");
  }, [hasEnded, forget]);
  if (!job.data) return <RecordState title="Bulk job" of={job} />;
  const { data } = job;
  const title = jobTitle(data, data.total);
  return (
    <>
      <PageTitle
        title={title}
        status={data.status}
        sub={
          <span>
            started <Time at={data.createdAt} /> by <NameOf id={data.createdBy} />
            {data.finishedAt ? (
              <>
                {" "}
                · ended <Instant at={data.finishedAt} />
              </>
            ) : null}
          </span>
        }
        actions={
          <>
            <Link {...to("/devices", { orgId: data.orgId ?? undefined })} className="button">
              All devices
            </Link>
            <HeadOperations of={data} operations={bulkJobOperations} name={title} />
          </>
        }
      />
      <Progress of={data} />
      <Reasons of={data} />
      <Chosen of={data} />
    </>
  );
}

const share = (part: number, all: number) => ({ "--share": `${(part / Math.max(1, all)) * 100}%` }) as CSSProperties;

function Progress({ of: job }: { of: Job }) {
  const { total, done, failed } = job;
  const left = total - done - failed;
  const leftWords = job.status === "cancelled" ? "not changed" : "left";
  const parts = [
    ["Changed", done, "good"],
    ["Refused", failed, "bad"],
    [job.status === "cancelled" ? "Not changed" : "Left", left, "off"],
  ] as const;
  return (
    <Section title="Progress">
      <p role="status" className="visually-hidden">
        {done.toLocaleString()} of {total.toLocaleString()} changed, {failed.toLocaleString()} refused,{" "}
        {left.toLocaleString()} {leftWords}
      </p>
      <div className={styles.track} aria-hidden>
        <i data-tone="good" style={share(done, total)} />
        <i data-tone="bad" style={share(failed, total)} />
      </div>
      <ul className={styles.counts} aria-hidden>
        {parts.map(([name, count, tone]) => (
          <li key={name} data-tone={tone}>
            <span>{name}</span>
            <b className="number">{count.toLocaleString()}</b>
          </li>
        ))}
      </ul>
    </Section>
  );
}

/** Why devices were refused, each reason with some of them. */
function Reasons({ of: { reasons, orgId } }: { of: Job }) {
  if (reasons.length === 0) return null;
  return (
    <Section title="Refused" tone="bad">
      <PlainTable columns={["Why", "Devices", "Some of them"]}>
        {reasons.map(({ code, error, count, deviceIds }) => (
          <tr key={code}>
            <th scope="row">{failureSentence({ code, error, retryAfterSeconds: null })}</th>
            <td className="number">{count.toLocaleString()}</td>
            <td>
              <ul className={styles.devices}>
                {deviceIds.map((id) => (
                  <li key={id}>
                    <Link {...toRecord("/devices/$id", { id }, { orgId: orgId ?? undefined })}>
                      <NameOf id={id} />
                    </Link>
                  </li>
                ))}
              </ul>
            </td>
          </tr>
        ))}
      </PlainTable>
    </Section>
  );
}

/** The API's filters, as the list of devices calls them. */
const filterTitles: ReadonlyMap<string, string> = new Map([
  ["siteId", "Site"],
  ["groupId", "Group"],
  ["status", "Status"],
  ["os", "System"],
  ["agentVersion", "Agent"],
  ["label", "Label"],
  ["seenBefore", "Not seen since"],
  ["enrollmentKeyId", "Enrollment key"],
  ["updateState", "Updates"],
  ["search", "Name, serial, address, customer"],
]);

/** Which devices it was started for. */
function Chosen({ of: { filter, change } }: { of: Job }) {
  const filters = listFiltersOf(filter);
  const named = Object.entries(filters).filter(([name]) => name !== "orgId");
  const sites =
    change?.siteId === undefined ? [] : ([["Their new site", <Site key="site" id={change.siteId} />]] as const);
  return (
    <Section title="Which devices" action={<Link {...to("/devices", filters)}>Those that match now</Link>}>
      <Facts
        of={[
          ["Organization", filters.orgId ? <NameOf key="organization" id={filters.orgId} /> : "all"],
          ...named.map(([name, value]) => [filterTitles.get(name) ?? name, <Value key={name} of={value} />] as const),
          ...sites,
        ]}
      />
    </Section>
  );
}

const Site = ({ id }: { id: string | null }) => (id === null ? "none" : <NameOf id={id} />);

/** A filter's value: a record by its name. */
const Value = ({ of }: { of: string }) => (isId(of) ? <NameOf id={of} /> : of);
