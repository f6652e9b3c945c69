import { useEffect } from "react";
import { useGet, useList } from "../../api/queries.ts";
import { Chart } from "../../parts/chart.tsx";
import { Section } from "../../parts/facts.tsx";
import { FailureState, Loading } from "../../parts/states.tsx";
import { latencyPoints, percentile, timesOf } from "../../rules/latency.ts";
import { useHours } from "./delivery-chart.tsx";

/** So many deliveries are read back into the time that is shown. */
const most = 500;

/** How long the receiver took for deliveries that it accepted: a refusal at once would look like speed. */
export function LatencyChart({ id }: { id: string }) {
  const [hours] = useHours();
  const path = { id };
  const stats = useGet("/api/v1/webhooks/{id}/stats", { params: { path, query: { hours } } }, { everyMs: 60_000 });
  const delivered = useList(
    "/api/v1/webhooks/{id}/deliveries",
    { params: { path, query: { status: "delivered" } } },
    { everyMs: 60_000 },
  );
  const { rows, hasMore, isLoadingMore, loadMore, failure, refresh } = delivered;
  const from = stats.data?.buckets[0]?.at;
  const isCut = hasMore && from !== undefined && rows.length < most && (rows.at(-1)?.createdAt ?? from) > from;
  useEffect(() => {
    if (isCut && !isLoadingMore) void loadMore();
  }, [isCut, isLoadingMore, loadMore]);
  const points = stats.data ? latencyPoints(rows, stats.data) : [];
  const p99 = percentile(timesOf(rows.filter(({ createdAt }) => createdAt >= (from ?? ""))), 99);
  const isLoading = delivered.isLoading || stats.isPending;
  // A chart of less than two replies says nothing: the outcomes get its width.
  if (!isLoading && !failure && points.length < 2) return null;
  return (
    <Section title="Latency" action={p99 === null ? null : <p className="number">p99 {p99.toLocaleString()} ms</p>}>
      {failure ? <FailureState failure={failure} onRetry={() => void refresh()} /> : null}
      {isLoading && !failure ? <Loading what="Loading the latency" /> : null}
      {stats.data && points.length > 1 ? (
        <Chart
          label="Milliseconds until the reply, of accepted deliveries"
          kind="area"
          series={[{ name: "Milliseconds", tone: "run" }]}
          points={points}
          unit="ms"
          isSmooth
          {...timeOf(stats.data)}
        />
      ) : null}
    </Section>
  );
}

/** The time of bars of these buckets: half a bar of space at both ends. */
function timeOf({ buckets, bucketSeconds }: { buckets: readonly { at: string }[]; bucketSeconds: number }) {
  const stepMs = bucketSeconds * 1_000;
  const [first, last] = [buckets[0]?.at ?? "", buckets.at(-1)?.at ?? ""];
  return { stepMs, range: { from: Date.parse(first) - stepMs / 2, until: Date.parse(last) + stepMs / 2 } };
}
