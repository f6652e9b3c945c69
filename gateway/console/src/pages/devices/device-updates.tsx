import { useGet } from "../../api/queries.ts";
import { Section } from "../../parts/facts.tsx";
import { useWhyNot } from "../../parts/me.tsx";
import styles from "../../parts/plain-table.module.css";
import { FailureState, Loading } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";

/** Why the device's programs update or do not. */
export function DeviceUpdates({ id }: { id: string }) {
  const isHidden = useWhyNot("GET /api/v1/devices/{id}/update-decision") !== null;
  const decision = useGet("/api/v1/devices/{id}/update-decision", { params: { path: { id } } }, { enabled: !isHidden });
  if (isHidden) return null;
  return (
    <Section title="Updates">
      {decision.error ? (
        <FailureState failure={decision.error.failure} onRetry={() => void decision.refetch()} />
      ) : null}
      {decision.isPending ? <Loading /> : null}
      {decision.data ? (
        <div className={styles.scroller}>
          <table className={styles.table}>
            <thead>
              <tr>
                <th scope="col">Program</th>
                <th scope="col">Runs</th>
                <th scope="col">Target</th>
                <th scope="col">Why</th>
                <th scope="col">Next check</th>
              </tr>
            </thead>
            <tbody>
              {decision.data.components.map((each) => (
                <tr key={each.component}>
                  <th scope="row">{each.component}</th>
                  <td>{each.current ?? "not reported"}</td>
                  <td>{each.target ?? "none"}</td>
                  <td>{each.detail}</td>
                  <td>
                    <Time at={each.nextCheckAt} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      ) : null}
    </Section>
  );
}
