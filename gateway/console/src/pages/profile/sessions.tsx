import { useList } from "../../api/queries.ts";
import { anywhere } from "../../operations/chosen.tsx";
import { LineOperations, OperationButton } from "../../operations/operation-buttons.tsx";
import { endOtherSessions, sessionOperations } from "../../operations/sessions.tsx";
import { Section } from "../../parts/facts.tsx";
import { PlainTable } from "../../parts/plain-table.tsx";
import { FailureState, Loading } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";

/** Where the user is signed in, and how to end that. */
export function Sessions() {
  const list = useList("/api/v1/auth/sessions");
  return (
    <Section
      title="Sessions"
      action={list.rows.length < 2 ? null : <OperationButton of={anywhere} operation={endOtherSessions} />}
    >
      {list.failure ? <FailureState failure={list.failure} onRetry={() => void list.refresh()} /> : null}
      {list.isLoading ? <Loading /> : null}
      {list.rows.length > 0 ? (
        <PlainTable columns={["Device", "Address", "Last used", "Ends"]} hasActions isBrief>
          {list.rows.map((session) => (
            <tr key={session.id}>
              <th scope="row">{session.device}</th>
              <td>{session.ipAddress}</td>
              <td>
                <Time at={session.lastUsedAt} />
              </td>
              <td>
                <Time at={session.expiresAt} />
              </td>
              <td>
                {session.current ? (
                  <span className="soft">this one</span>
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
