import { useGet } from "../../api/queries.ts";
import { Chart } from "../../parts/chart.tsx";
import { Section } from "../../parts/facts.tsx";
import { FailureState, Loading } from "../../parts/states.tsx";
import { Instant } from "../../parts/time.tsx";
import { latencyPoints, percentile } from "../../rules/latency.ts";

const newest = 100;

/** How long the receiver took for the newest deliveries that it accepted: a refusal at once would look like speed. */
export function LatencyChart({ id }: { id: string }) {
  const { data, error, refetch } = useGet(
    "/api/v1/webhooks/{id}/deliveries",
    { params: { path: { id }, query: { status: "delivered", limit: String(newest), skipCount: "true" } } },
    { everyMs: 60_000 },
  );
  const points = latencyPoints(data?.data ?? []);
  const p99 = percentile(
    points.flatMap(({ values }) => values),
    99,
  );
  const [first, last] = [points[0], points.at(-1)];
  // A chart of less than two replies says nothing: the outcomes get its width.
  if (data && points.length < 2) return null;
  return (
    <Section title="Latency" action={p99 === null ? null : <p className="number">p99 {p99.toLocaleString()} ms</p>}>
      {error ? <FailureState failure={error.failure} onRetry={() => void refetch()} /> : null}
      {!data && !error ? <Loading what="Loading the latency" /> : null}
      {first && last && first !== last ? (
        <>
          <Chart
            label="Milliseconds until the reply, of the newest accepted deliveries"
            kind="area"
            series={[{ name: "Milliseconds", tone: "run" }]}
            points={points}
            unit="ms"
          />
          <p className="soft">
            The newest accepted deliveries, <Instant at={first.at} /> to <Instant at={last.at} />
          </p>
        </>
      ) : null}
    </Section>
  );
}
