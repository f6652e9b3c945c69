import { type BodyOf, useList } from "../../api/queries.ts";
import { Section } from "../../parts/facts.tsx";
import { FoldedRuns } from "../../parts/folded-runs.tsx";
import { PlainTable } from "../../parts/plain-table.tsx";
import { ListState } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import { Instant } from "../../parts/time.tsx";
import { ssoReasonSentence } from "../../rules/sso-reasons.ts";

type Attempt = BodyOf<"/api/v1/sso/providers/{id}/attempts">["data"][number];

/** The newest sign-ins through a provider. Those that failed say why; others after one another are one row. */
export function Attempts({ id }: { id: string }) {
  const list = useList("/api/v1/sso/providers/{id}/attempts", { params: { path: { id } } }, { everyMs: 10_000 });
  return (
    <Section title="Newest sign-ins">
      <ListState list={list} what="Loading sign-ins">
        <p className="soft">Nobody has signed in through it yet.</p>
      </ListState>
      {list.rows.length > 0 ? (
        <PlainTable columns={["Who", "Outcome", "When"]} isBrief>
          <FoldedRuns
            rows={list.rows}
            hasMore={list.hasMore}
            textOf={({ outcome }) => (outcome === "success" ? outcome : null)}
            lineOf={(attempt, more) => (
              <tr>
                <th scope="row">
                  {attempt.email ?? attempt.ipAddress} {more}
                </th>
                <td>
                  <Status of={attempt.outcome} />
                  {attempt.reason ? <Why of={attempt} reason={attempt.reason} /> : null}
                </td>
                <td>
                  <Instant at={attempt.createdAt} />
                </td>
              </tr>
            )}
          />
        </PlainTable>
      ) : null}
    </Section>
  );
}

/** Why a sign-in failed, as administrators read it, and the codes of the table that says what to do. */
const Why = ({ of: { detail, step }, reason }: { of: Attempt; reason: string }) => (
  <div>
    {detail ?? ssoReasonSentence(reason)}
    <div className="soft">
      <small>
        {reason}, step {step}
      </small>
    </div>
  </div>
);
