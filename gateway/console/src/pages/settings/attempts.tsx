import { useList } from "../../api/queries.ts";
import { Section } from "../../parts/facts.tsx";
import plain from "../../parts/plain-table.module.css";
import { PlainTable } from "../../parts/plain-table.tsx";
import { ListState } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import { Instant } from "../../parts/time.tsx";
import { ssoReasonSentence } from "../../rules/sso-reasons.ts";

/** The newest sign-ins through a provider, with the check that ended each. */
export function Attempts({ id }: { id: string }) {
  const list = useList("/api/v1/sso/providers/{id}/attempts", { params: { path: { id } } }, { everyMs: 10_000 });
  return (
    <Section title="Newest sign-ins">
      <ListState list={list} what="Loading sign-ins">
        <p className="soft">Nobody has signed in through it yet.</p>
      </ListState>
      {list.rows.length > 0 ? (
        <PlainTable columns={["Time", "Who", "Outcome", "Last check"]} isBrief>
          {list.rows.map((attempt) => (
            <tr key={attempt.id}>
              <td>
                <Instant at={attempt.createdAt} />
              </td>
              <td>{attempt.email ?? attempt.ipAddress}</td>
              <td>
                <Status of={attempt.outcome} />
              </td>
              <td>
                {attempt.step}
                {attempt.reason ? `: ${ssoReasonSentence(attempt.reason)}` : ""}
                {attempt.detail ? <span className={plain.message}> {attempt.detail}</span> : null}
              </td>
            </tr>
          ))}
        </PlainTable>
      ) : null}
    </Section>
  );
}
