import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { MetricRange } from "@muster/proto/muster/tenancy/v1/metric_pb";
import { z } from "zod";
import { type Route, route } from "../../route/route.ts";
import { id, idParams, only, timeIn, timeOf, timeOut } from "../fields/schemas.ts";

const tag = "Devices";
const read = { auth: "session", permission: "devices:read", keyScopes: ["devices:read"] } as const;

const seconds = { "5m": 300, "15m": 900, "30m": 1_800, "1h": 3_600, "6h": 21_600, "1d": 86_400 } as const;
const dayMs = 86_400_000;

const time = {
  from: timeIn.optional().meta({ description: "Beginning; a day before `to` when absent." }),
  to: timeIn.optional().meta({ description: "End, not included; now when absent." }),
};

const range = z.object({ min: z.number(), mean: z.number(), max: z.number() });
const point = z
  .object({ at: timeOut, cpu: range.nullable(), memory: range.nullable(), disk: range.nullable() })
  .meta({ id: "MetricPoint", description: "Of reports within the step, in percent, rounded to halves." });

const ofDevice = route({
  method: "GET",
  path: "/devices/:id/metrics",
  access: read,
  tag,
  summary: "History of a device's processor, memory and disk",
  description:
    "Of `cpu.percent`, `memory.percent` and `disk.percent` in its heartbeats. The current hour comes when it has ended, and " +
    "lacks what a process had received that was killed in it, or within seconds after its end. Steps without a report are left out; those shorter than an hour have minimum and maximum of 5-minute means. At most 2,200 steps, 90 days back.",
  params: idParams,
  query: z.object({ ...time, step: z.enum(["5m", "15m", "30m", "1h", "6h", "1d"]).default("1h") }),
  reply: z.object({ data: z.array(point) }),
  errors: ["device_not_found"],
  async handle({ params, query, rpc }, { services }) {
    const { points } = await services.metrics.getDeviceMetrics({ id: params.id, period: periodOf(query) }, await rpc());
    const data = points.map(({ at, cpu, memory, disk }) => {
      return { at: timeOf(at), cpu: rangeOf(cpu), memory: rangeOf(memory), disk: rangeOf(disk) };
    });
    return { data };
  },
});

const percentiles = z
  .object({ p50: z.number(), p90: z.number(), p95: z.number(), p99: z.number() })
  .meta({ id: "MetricPercentiles", description: "Of the devices' hourly means, in percent." });

const ofDevices = route({
  method: "GET",
  path: "/devices/metrics",
  access: read,
  tag,
  summary: "Percentiles of processor, memory and disk across devices",
  description: "Of at most 50,000 devices. As the history of one device.",
  query: z.object({
    orgId: id.optional().meta({ description: only.organization }),
    siteId: id.optional().meta({ description: only.site }),
    groupId: id.optional().meta({ description: only.group }),
    ...time,
    step: z.enum(["1h", "6h", "1d"]).default("1h"),
  }),
  deadline: "report",
  reply: z.object({
    data: z.array(
      z.object({
        at: timeOut,
        devices: z.int().meta({ description: "Devices with a report within the step." }),
        cpu: percentiles.nullable(),
        memory: percentiles.nullable(),
        disk: percentiles.nullable(),
      }),
    ),
  }),
  errors: ["organization_not_found", "site_not_found", "device_group_not_found"],
  async handle({ query, rpc }, { services }) {
    const { orgId = "", siteId = "", groupId = "" } = query;
    const wanted = { orgId, siteId, groupId, period: periodOf(query) };
    const { points } = await services.metrics.getMetricPercentiles(wanted, await rpc());
    const data = points.map(({ at, devices, cpu, memory, disk }) => ({
      ...{ at: timeOf(at), devices },
      ...{ cpu: percentilesOf(cpu), memory: percentilesOf(memory), disk: percentilesOf(disk) },
    }));
    return { data };
  },
});

const ofStates = route({
  method: "GET",
  path: "/devices/history",
  access: read,
  tag,
  summary: "How many devices were in which state",
  description:
    "Counted every five minutes and kept for 30 days; a longer step has the rounded means. Steps without a count are left out. At most 2,200 steps. " +
    "Not for users restricted to sites: whole organizations are counted.",
  query: z.object({
    orgId: id.optional().meta({ description: only.organization }),
    ...time,
    step: z.enum(["5m", "15m", "30m", "1h", "6h", "1d"]).default("1h"),
  }),
  reply: z.object({
    data: z.array(
      z
        .object({ at: timeOut, online: z.int(), offline: z.int(), updating: z.int(), quarantined: z.int() })
        .meta({ id: "DeviceHistoryPoint" }),
    ),
  }),
  errors: ["organization_not_found", "site_restricted"],
  async handle({ query, rpc }, { services }) {
    const wanted = { orgId: query.orgId ?? "", period: periodOf(query) };
    const { points } = await services.metrics.getDeviceHistory(wanted, await rpc());
    return {
      data: points.map(({ at, online, offline, updating, quarantined }) => {
        return { at: timeOf(at), online, offline, updating, quarantined };
      }),
    };
  },
});

function periodOf(query: { from?: string | undefined; to?: string | undefined; step: keyof typeof seconds }) {
  const to = query.to === undefined ? new Date() : new Date(query.to);
  const from = query.from === undefined ? new Date(to.getTime() - dayMs) : new Date(query.from);
  return { from: timestampFromDate(from), to: timestampFromDate(to), stepSeconds: seconds[query.step] };
}

function rangeOf(range: MetricRange | undefined) {
  return range ? { min: range.min, mean: Math.round(range.mean * 10) / 10, max: range.max } : null;
}

function percentilesOf([p50, p90, p95, p99]: readonly number[]) {
  if (p50 === undefined || p90 === undefined || p95 === undefined || p99 === undefined) return null;
  return { p50, p90, p95, p99 };
}

export const deviceMetricRoutes: readonly Route[] = [ofDevices, ofStates, ofDevice];
