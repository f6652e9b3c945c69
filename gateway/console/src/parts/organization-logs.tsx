import { useGet } from "../api/queries.ts";
import { bytesWords } from "../rules/bytes-words.ts";
import { counted } from "../rules/counted.ts";
import { Facts, Section } from "./facts.tsx";
import { FailureState, Loading } from "./states.tsx";

const path = "/api/v1/orgs/organizations/{id}/log-limits";

/** How many log rows an organization's agents may send a day, what they sent, and how long their logs are kept. */
export function OrganizationLogs({ id }: { id: string }) {
  const limits = useGet(path, { params: { path: { id } } });
  if (limits.error) return <FailureState failure={limits.error.failure} onRetry={() => void limits.refetch()} />;
  if (!limits.data) return <Loading what="Loading the limits of logs" />;
  const { effective, today } = limits.data;
  return (
    <Section title="Logs">
      <Facts
        of={[
          ["Rows today", ofQuota(today.rows, effective.rowsPerDay)],
          ["Size today", ofQuota(today.bytes, effective.bytesPerDay, bytesWords)],
          ["Refused today", refusedText(today.refusedRequests)],
          ["Agents' logs", `kept ${effective.agentLogDays.toLocaleString()} days`],
          ["Event logs", `kept ${effective.eventLogDays.toLocaleString()} days`],
        ]}
      />
      <p className="soft">The platform's administrators set quota and retention.</p>
    </Section>
  );
}

const ofQuota = (count: number, most: number | null, words = (all: number) => all.toLocaleString()) =>
  `${words(count)} of ${most === null ? "any number" : `${words(most)} a day`}`;

const refusedText = (count: number) =>
  count === 0 ? "none" : `${counted(count, "requests")}: agents keep their rows and try again`;
