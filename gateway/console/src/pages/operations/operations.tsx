import { Link } from "@tanstack/react-router";
import { type BodyOf, useGet } from "../../api/queries.ts";
import { Section } from "../../parts/facts.tsx";
import { to } from "../../parts/links.ts";
import { useWhyNot } from "../../parts/me.tsx";
import { Notice } from "../../parts/notice.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { PlainTable } from "../../parts/plain-table.tsx";
import { FailureState, Loading, NotAllowed } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import { useShortTime } from "../../parts/time.tsx";
import { checkName, isFine, platformNeeds, waitingWords } from "../../rules/platform-needs.ts";

type Platform = BodyOf<"/api/v1/platform/status">;

/** The platform's parts, for operators: what needs a look, then each service with its dependencies and what waits. */
export function Operations() {
  const why = useWhyNot("GET /api/v1/platform/status");
  const status = useGet("/api/v1/platform/status", {}, { everyMs: 10_000, enabled: why === null });
  const short = useShortTime();
  const { data } = status;
  const isWell = data?.services.every((each) => each.status === "ok");
  return (
    <>
      <PageTitle
        title="Operations"
        status={data ? <Status of={isWell ? "ok" : "degraded"} /> : null}
        sub={data ? `Version ${data.version} · as of ${short(new Date(status.dataUpdatedAt))}` : null}
      />
      {why === null ? null : <NotAllowed why={why} />}
      {status.error ? <FailureState failure={status.error.failure} onRetry={() => void status.refetch()} /> : null}
      {why === null && status.isPending ? <Loading what="Loading the platform's state" /> : null}
      {data ? (
        <>
          {platformNeeds(data).map(({ tone, title, text }) => (
            <Notice key={title} tone={tone} title={title}>
              {text}
            </Notice>
          ))}
          <Services of={data} />
        </>
      ) : null}
    </>
  );
}

/** A row for each service; its version only where it is another than the gateway's. */
function Services({ of: { services, version: usual } }: { of: Platform }) {
  return (
    <Section title="Services">
      <PlainTable
        columns={["Service", "State", "Dependencies", "To be published", "Deliveries", "Dead letters", "Jobs"]}
      >
        {services.map(({ service, status: state, version, checks, outbox, deliveries, deadLetters, openJobs }) => (
          <tr key={service}>
            <th scope="row">
              {service}
              {version === null || version === usual ? null : <small>{version}</small>}
            </th>
            <td>
              <Status of={state} />
            </td>
            <td>
              <Dependencies of={checks} />
            </td>
            <td>{outbox ? waitingWords(outbox.waiting, outbox.oldestSeconds) : "unknown"}</td>
            <td>
              {deliveries ? (
                <Link {...to("/webhooks", {})}>{waitingWords(deliveries.due, deliveries.oldestDueSeconds)}</Link>
              ) : (
                <span className="soft">–</span>
              )}
            </td>
            <td>{deadLetters ?? "unknown"}</td>
            <td>{openJobs ?? "unknown"}</td>
          </tr>
        ))}
      </PlainTable>
    </Section>
  );
}

/** The dependencies of a service that miss something, as the sentence above the table says. */
function Dependencies({ of: checks }: { of: Readonly<Record<string, string>> }) {
  const missing = Object.entries(checks).filter(([, found]) => !isFine(found));
  if (missing.length === 0)
    return <span className="soft">{Object.keys(checks).length > 0 ? "all ok" : "unknown"}</span>;
  return missing.map(([name, found]) => (
    <span key={name} data-tip={found}>
      <Status of={checkName(name)} tone="warn" />{" "}
    </span>
  ));
}
