import { Link } from "@tanstack/react-router";
import { useGet } from "../../api/queries.ts";
import { Section } from "../../parts/facts.tsx";
import { to, toRecord } from "../../parts/links.ts";
import { PlainTable } from "../../parts/plain-table.tsx";
import { FailureState, Loading } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import { useFilters } from "../../parts/use-filters.ts";
import { hostOf } from "../../rules/attention.ts";
import { shownHealth } from "../../rules/health.ts";
import { worstFirst } from "../../rules/tone.ts";

/** The webhooks, failing ones first, of one organization or of all that are visible to the user. */
export function WebhookHealth({ orgId }: { orgId: string | undefined }) {
  const [{ orgId: chosen }] = useFilters();
  const query = { limit: "20", skipCount: "true", ...(orgId ? { orgId } : {}) };
  const { data, error, refetch } = useGet(
    orgId ? "/api/v1/webhooks" : "/api/v1/webhooks/all",
    { params: { query } },
    { everyMs: 120_000 },
  );
  const all = (data?.data ?? []).map((each) => ({ ...each, shown: shownHealth(each) }));
  const rows = worstFirst(all, ({ shown }) => shown.tone).slice(0, 5);
  return (
    <Section title="Webhooks" action={<Link {...to("/webhooks", { orgId: chosen })}>All webhooks</Link>}>
      {error ? <FailureState failure={error.failure} onRetry={() => void refetch()} /> : null}
      {!data && !error ? <Loading what="Loading webhooks" /> : null}
      {data && rows.length === 0 ? <p className="soft">No webhook yet.</p> : null}
      {rows.length > 0 ? (
        <PlainTable columns={["Webhook", "Health", "Delivered", "Failed"]}>
          {rows.map(({ id, name, url, shown, successCount, failureCount }) => (
            <tr key={id}>
              <th scope="row">
                <Link {...toRecord("/webhooks/$id", { id }, { orgId: chosen })}>{name}</Link>
                <div className="soft">{hostOf(url)}</div>
              </th>
              <td>
                <Status of={shown.word} tone={shown.tone} />
              </td>
              <td className="number">{successCount.toLocaleString()}</td>
              <td className={`number ${shown.tone === "bad" ? "bad" : ""}`}>{failureCount.toLocaleString()}</td>
            </tr>
          ))}
        </PlainTable>
      ) : null}
    </Section>
  );
}
