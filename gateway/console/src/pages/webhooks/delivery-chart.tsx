import { useGet } from "../../api/queries.ts";
import { Chart } from "../../parts/chart.tsx";
import { Section } from "../../parts/facts.tsx";
import { Spans } from "../../parts/spans.tsx";
import { FailureState, Loading } from "../../parts/states.tsx";
import { Instant } from "../../parts/time.tsx";
import { useFilters } from "../../parts/use-filters.ts";

const spans = [
  { value: "1", title: "1 h" },
  { value: "24", title: "24 h" },
  { value: "168", title: "7 days" },
] as const;

const series = [
  { name: "Delivered", tone: "good" },
  { name: "Failed", tone: "bad" },
  { name: "Waiting", tone: "off" },
] as const;

/** The hours that are shown, which are those of the latency, too. */
export function useHours(): [hours: string, choose: (hours: string) => void] {
  const [{ hours = "24" }, change] = useFilters();
  return [
    spans.some(({ value }) => value === hours) ? hours : "24",
    (chosen) => change({ hours: chosen === "24" ? undefined : chosen }),
  ];
}

/** How the deliveries of a webhook ended over time. */
export function DeliveryChart({ id }: { id: string }) {
  const [hours, setHours] = useHours();
  const { data, error, refetch } = useGet(
    "/api/v1/webhooks/{id}/stats",
    { params: { path: { id }, query: { hours } } },
    { everyMs: 60_000 },
  );
  const total = data?.buckets.reduce((sum, { delivered, failed, open }) => sum + delivered + failed + open, 0) ?? 0;
  return (
    <Section
      title="Outcomes of deliveries"
      action={<Spans label="Time of the deliveries" of={spans} chosen={hours} choose={setHours} />}
    >
      {error ? <FailureState failure={error.failure} onRetry={() => void refetch()} /> : null}
      {!data && !error ? <Loading what="Loading the counts" /> : null}
      {data?.countedFrom ? (
        <p role="status" className="soft">
          The newest 100,000 were counted, back to <Instant at={data.countedFrom} />.
        </p>
      ) : null}
      {data && total === 0 ? <p className="soft">Nothing was queued in this time.</p> : null}
      {data && total > 0 ? (
        <Chart
          label={`${total.toLocaleString()} deliveries by outcome`}
          series={series}
          points={data.buckets.map(({ at, delivered, failed, open }) => ({ at, values: [delivered, failed, open] }))}
        />
      ) : null}
    </Section>
  );
}
