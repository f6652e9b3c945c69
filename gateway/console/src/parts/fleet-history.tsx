import { useState } from "react";
import { type BodyOf, useGet } from "../api/queries.ts";
import { deepestDip } from "../rules/dip.ts";
import { Chart } from "./chart.tsx";
import { HeadTools } from "./head-tools.tsx";
import { Spans } from "./spans.tsx";
import { FailureState, Loading } from "./states.tsx";

const spans = [
  { value: "24", title: "24 h", step: "15m", stepMs: 900_000 },
  { value: "168", title: "7 days", step: "1h", stepMs: 3_600_000 },
  { value: "720", title: "30 days", step: "6h", stepMs: 21_600_000 },
] as const;
const usual = "168";
const [hourMs, freshMs] = [3_600_000, 300_000];

/** Each with the API's name of it. */
const series = [
  { status: "online", name: "Online", tone: "good" },
  { status: "updating", name: "Updating", tone: "run" },
  { status: "quarantined", name: "To approve", tone: "warn" },
  { status: "offline", name: "Offline", tone: "off" },
] as const;

type FleetHistoryProps = { orgId: string | undefined; summary: BodyOf<"/api/v1/devices/summary"> | undefined };

/** The fleet over time, by state; it ends with what is counted now, as the last span is a mean that has not ended. */
export function FleetHistory({ orgId, summary }: FleetHistoryProps) {
  const [hours, setHours] = useState<string>(usual);
  // One moment for as long as a span is shown: another one each time would be another request each time.
  const [openedMs] = useState(Date.now);
  const { step, stepMs } = spans.find(({ value }) => value === hours) ?? spans[1];
  const from = new Date(openedMs - Number(hours) * hourMs).toISOString();
  const { data, dataUpdatedAt, error, refetch } = useGet(
    "/api/v1/devices/history",
    { params: { query: { from, step, ...(orgId ? { orgId } : {}) } } },
    { everyMs: freshMs, freshMs },
  );
  const points = (data?.data ?? []).map((each) => ({ at: each.at, values: series.map(({ status }) => each[status]) }));
  const countNow = (wanted: string) => summary?.byStatus.find(({ status }) => status === wanted)?.count ?? 0;
  const now = { at: new Date(dataUpdatedAt).toISOString(), values: series.map(({ status }) => countNow(status)) };
  const dip = deepestDip(points.map(({ values: [online = 0] }) => online));
  const mark = dip
    ? {
        index: dip.at,
        text: `${Math.round(points[dip.at]?.values[0] ?? 0).toLocaleString()} online, ${dip.fewer.toLocaleString()} fewer than usual`,
      }
    : undefined;
  const isEmpty = data !== undefined && points.length < 2;
  return (
    <>
      {isEmpty && hours === usual ? null : (
        <HeadTools>
          <Spans label="Time of the fleet" of={spans} chosen={hours} choose={setHours} />
        </HeadTools>
      )}
      {error ? <FailureState failure={error.failure} onRetry={() => void refetch()} /> : null}
      {!data && !error ? <Loading what="Loading the fleet over time" /> : null}
      {isEmpty && hours !== usual ? <p className="soft">Nothing was counted in this time yet.</p> : null}
      {points.length > 1 ? (
        <Chart
          label="Devices over time"
          kind="area"
          size="large"
          series={series}
          sum="All devices"
          points={summary ? [...points, now] : points}
          stepMs={stepMs}
          mark={mark}
        />
      ) : null}
    </>
  );
}
