import { useList } from "../../api/queries.ts";
import { anywhere } from "../../operations/chosen.tsx";
import { LineOperations, OperationButton } from "../../operations/operation-buttons.tsx";
import { endOtherSessions, sessionOperations } from "../../operations/sessions.tsx";
import { Section } from "../../parts/facts.tsx";
import plain from "../../parts/plain-table.module.css";
import { PlainTable } from "../../parts/plain-table.tsx";
import { FailureState, Loading } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import { Instant, Time } from "../../parts/time.tsx";

/** Where the user is signed in, this browser first, and how to end that. */
export function Sessions() {
  const list = useList("/api/v1/auth/sessions");
  const rows = [...list.rows].sort((one, other) => Number(other.current) - Number(one.current));
  return (
    <Section
      title="Sessions"
      action={list.rows.length < 2 ? null : <OperationButton of={anywhere} operation={endOtherSessions} />}
    >
      {list.failure ? <FailureState failure={list.failure} onRetry={() => void list.refresh()} /> : null}
      {list.isLoading ? <Loading /> : null}
      {list.rows.length > 0 ? (
        <PlainTable columns={["Device", "Address", "Signed in", "Last used"]} hasActions isBrief>
          {rows.map((session) => (
            <tr key={session.id}>
              <th scope="row" data-tip={session.userAgent ?? undefined}>
                {session.device}
              </th>
              <td>{session.ipAddress}</td>
              <td>
                <Instant at={session.createdAt} />
              </td>
              <td>
                <Time at={session.lastUsedAt} />
              </td>
              <td className={plain.end}>
                {session.current ? (
                  <Status of="this browser" tone="good" />
                ) : (
                  <LineOperations
                    of={session}
                    operations={sessionOperations}
                    name={`the session of ${session.device}`}
                  />
                )}
              </td>
            </tr>
          ))}
        </PlainTable>
      ) : null}
    </Section>
  );
}
