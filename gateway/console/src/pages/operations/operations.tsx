import { useGet } from "../../api/queries.ts";
import { Facts, Section } from "../../parts/facts.tsx";
import { useWhyNot } from "../../parts/me.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { PlainTable } from "../../parts/plain-table.tsx";
import { FailureState, Loading, NotAllowed } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import { useShortTime } from "../../parts/time.tsx";
import { waiting as durationOf } from "../../rules/failure-sentence.ts";

const waiting = (count: number, oldest: number) =>
  count === 0
    ? "none"
    : `${count.toLocaleString()}, the oldest for ${oldest < 1 ? "less than a second" : durationOf(oldest)}`;

/** The platform's parts, for operators: dependencies, pending messages and dead letters. */
export function Operations() {
  const why = useWhyNot("GET /api/v1/platform/status");
  const status = useGet("/api/v1/platform/status", {}, { everyMs: 10_000, enabled: why === null });
  const short = useShortTime();
  const services = status.data?.services ?? [];
  const isWell = services.every((each) => each.status === "ok");
  const deadLetterCount = services.reduce((sum, { deadLetters }) => sum + (deadLetters ?? 0), 0);
  return (
    <>
      <PageTitle title="Operations" />
      {why === null ? null : <NotAllowed why={why} />}
      {status.error ? <FailureState failure={status.error.failure} onRetry={() => void status.refetch()} /> : null}
      {why === null && status.isPending ? <Loading what="Loading the platform's state" /> : null}
      {status.data ? (
        <>
          <Section title="Platform">
            <Facts
              of={[
                ["State", <Status key="status" of={isWell ? "ok" : "degraded"} />],
                ["Version", status.data.version],
                ["As of", short(new Date(status.dataUpdatedAt))],
              ]}
            />
          </Section>
          {deadLetterCount > 0 ? (
            <p role="note">
              {deadLetterCount.toLocaleString()} messages are dead letters: nothing could send or process them. The logs
              say why.
            </p>
          ) : null}
          <Section title="Services">
            <PlainTable columns={["Service", "State", "Version", "Waiting to be published", "Dead letters", "Jobs"]}>
              {services.map(({ service, status: state, version, outbox, deadLetters, openJobs }) => (
                <tr key={service}>
                  <th scope="row">{service}</th>
                  <td>
                    <Status of={state} />
                  </td>
                  <td>{version}</td>
                  <td>{outbox ? waiting(outbox.waiting, outbox.oldestSeconds) : "unknown"}</td>
                  <td>{deadLetters ?? "unknown"}</td>
                  <td>{openJobs ?? "unknown"}</td>
                </tr>
              ))}
            </PlainTable>
          </Section>
          {services.map(({ service, deliveries }) =>
            deliveries ? (
              <Section key={service} title="Webhooks">
                <Facts of={[["Due deliveries", waiting(deliveries.due, deliveries.oldestDueSeconds)]]} />
              </Section>
            ) : null,
          )}
          <Section title="Dependencies">
            <PlainTable columns={["Service", "Dependency", "State"]}>
              {services.flatMap(({ service, checks }) =>
                Object.entries(checks).map(([name, found]) => (
                  <tr key={`${service} ${name}`}>
                    <th scope="row">{service}</th>
                    <td>{name}</td>
                    <td>{found}</td>
                  </tr>
                )),
              )}
            </PlainTable>
          </Section>
        </>
      ) : null}
    </>
  );
}
