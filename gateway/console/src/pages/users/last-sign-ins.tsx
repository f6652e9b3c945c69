import { Link } from "@tanstack/react-router";
import { useGet } from "../../api/queries.ts";
import { Section } from "../../parts/facts.tsx";
import { to, toRecord } from "../../parts/links.ts";
import { PlainTable } from "../../parts/plain-table.tsx";
import { FailureState, Loading } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";
import { clientWords } from "../../rules/client-words.ts";
import { guessedSignIns } from "../../rules/guessed-sign-ins.ts";
import { signInActions } from "../../rules/session-actions.ts";
import { refusedSignIns, signInRuns, signInWords } from "../../rules/sign-in-words.ts";

const [mostRead, mostShown] = ["50", 6];

type Account = { id: string; orgId: string | null };

const searchOf = ({ id, orgId }: Account) => ({
  actorId: id,
  actions: signInActions.join(","),
  orgId: orgId ?? undefined,
});

/** The last sign-ins of an account, newest first, and what of them looks like guessing. */
export function useLastSignIns(account: Account) {
  const query = { ...searchOf(account), limit: mostRead, skipCount: "true" };
  const read = useGet("/api/v1/audit-logs/logs", { params: { query } });
  return { ...read, guesses: guessedSignIns(read.data?.data ?? [], new Date()) };
}

/** When, from where and with which client a person signed in last, or was refused. */
export function LastSignIns({ of: account }: { of: Account & { lastLoginAt: string | null } }) {
  const { data, error, isPending, refetch, guesses } = useLastSignIns(account);
  const { lastLoginAt } = account;
  const search = searchOf(account);
  const rows = data?.data ?? [];
  // Of guesses, the line above the page says it.
  const refused = guesses ? null : refusedSignIns(rows);
  return (
    <Section
      title="Sign-ins"
      action={rows.length > 0 ? <Link {...to("/audit", search)}>All in the audit trail</Link> : null}
    >
      {error ? <FailureState failure={error.failure} onRetry={() => void refetch()} /> : null}
      {isPending ? <Loading what="Loading sign-ins" /> : null}
      {data && rows.length === 0 ? (
        <p className="soft">{lastLoginAt === null ? "Nobody has signed in with this account." : "None is recorded."}</p>
      ) : null}
      {refused ? <p className="soft">{refused}</p> : null}
      {rows.length > 0 ? (
        <PlainTable columns={["Sign-in", "Client", "Address", "When"]} isBrief>
          {signInRuns(rows)
            .slice(0, mostShown)
            .map(({ first: row, count }) => {
              const { did, how } = signInWords(row, count);
              return (
                <tr key={row.id}>
                  <th scope="row">
                    <Link {...toRecord("/audit/$id", { id: row.id }, { orgId: search.orgId })}>
                      <span className={row.result === "success" ? undefined : "bad"}>{did}</span>
                    </Link>{" "}
                    {how ? <span className="soft">{how}</span> : null}
                  </th>
                  <td data-tip={row.userAgent ?? undefined}>{clientWords(row.userAgent) ?? "unknown"}</td>
                  <td>
                    {row.ipAddress ? (
                      <Link {...to("/audit", { orgId: search.orgId, ipAddress: row.ipAddress })}>{row.ipAddress}</Link>
                    ) : (
                      "unknown"
                    )}
                  </td>
                  <td>
                    <Time at={row.timestamp} />
                  </td>
                </tr>
              );
            })}
        </PlainTable>
      ) : null}
    </Section>
  );
}
