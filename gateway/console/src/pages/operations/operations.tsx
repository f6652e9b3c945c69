import { useWhyNot } from "../../api/me.tsx";
import { useGet } from "../../api/queries.ts";
import { Facts, Section } from "../../parts/facts.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { PlainTable } from "../../parts/plain-table.tsx";
import { FailureState, Loading, NotAllowed } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";

/** The platform's parts, for those who operate it. */
export function Operations() {
  const why = useWhyNot("POST /api/v1/agent-versions");
  const health = useGet("/health", {}, { everyMs: 10_000, enabled: why === null });
  return (
    <>
      <PageTitle title="Operations" />
      {why === null ? null : <NotAllowed why={why} />}
      {health.error ? <FailureState failure={health.error.failure} onRetry={() => void health.refetch()} /> : null}
      {why === null && health.isPending ? <Loading what="Asking the platform" /> : null}
      {health.data ? (
        <>
          <Facts
            of={[
              ["Platform", <Status key="status" of={health.data.status} />],
              ["Version", health.data.version],
              ["As of", new Date(health.dataUpdatedAt).toLocaleTimeString()],
            ]}
          />
          <Section title="Services">
            <PlainTable columns={["Service", "State", "Version"]}>
              {Object.entries(health.data.services).map(([name, { status, version }]) => (
                <tr key={name}>
                  <th scope="row">{name}</th>
                  <td>
                    <Status of={status} />
                  </td>
                  <td>{version}</td>
                </tr>
              ))}
            </PlainTable>
          </Section>
        </>
      ) : null}
    </>
  );
}
