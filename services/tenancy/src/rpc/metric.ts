import { timestampDate, timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import type { Database } from "@muster/db";
import { type CallContext, isUuid, validationError } from "@muster/kit";
import type { MetricPeriod, MetricService } from "@muster/proto/muster/tenancy/v1/metric_pb";
import { callContext } from "@muster/rpc";
import { requireOrganization, requirePermission, requireWholeOrganization } from "@muster/service";
import { type Period, percentileDevicesMax, periodOf, seriesOf, tooManyDevices } from "../rules/metric-series.ts";
import { deviceNotFound, organizationNotFound } from "../rules/refusals.ts";
import { historyOwners, readHistory } from "../store/device-history.ts";
import { findOwner } from "../store/device-scope.ts";
import { findDevice } from "../store/devices.ts";
import { metricPercentiles, metricRowsOf } from "../store/metrics.ts";
import { deviceOwners } from "./device-filter.ts";
import { requireFilterTargets } from "./filter-targets.ts";

type Deps = { db: Database };

const hourSeconds = 3_600;

/** The history of devices' metrics, for those who may read the devices. */
export function metricService({ db }: Deps): ServiceImpl<typeof MetricService> {
  return {
    async getDeviceMetrics({ id, period }, handler) {
      const context = callContext(handler);
      admit(context);
      const wanted = periodIn(period);
      if (!isUuid(id) || !(await findDevice(db, context, id))) throw deviceNotFound();
      const points = seriesOf(await metricRowsOf(db, context, id, wanted), wanted);
      return {
        points: points.map(({ atMs, cpu, memory, disk }) => ({
          at: timestampFromMs(atMs),
          ...(cpu ? { cpu } : {}),
          ...(memory ? { memory } : {}),
          ...(disk ? { disk } : {}),
        })),
      };
    },

    async getMetricPercentiles(request, handler) {
      const context = callContext(handler);
      admit(context);
      const wanted = periodIn(request.period, hourSeconds);
      const owners = deviceOwners(request);
      await requireFilterTargets(db, context, owners);
      await requireFound(db, context, owners.orgId);
      const points = await metricPercentiles(db, context, owners, wanted, percentileDevicesMax);
      if (points === null) throw tooManyDevices();
      return {
        points: points.map(({ atMs, devices, cpu, memory, disk }) => ({
          ...{ at: timestampFromMs(atMs), devices },
          ...{ cpu: cpu ?? [], memory: memory ?? [], disk: disk ?? [] },
        })),
      };
    },

    async getDeviceHistory({ orgId: wantedOrgId, period }, handler) {
      const context = callContext(handler);
      admit(context);
      // Counts are of whole organizations.
      requireWholeOrganization(context);
      const wanted = periodIn(period);
      const { orgId } = deviceOwners({ orgId: wantedOrgId, siteId: "", groupId: "" });
      await requireFound(db, context, orgId);
      const points = await readHistory(db, context, historyOwners(context.caller, orgId), wanted);
      return { points: points.map(({ atMs, ...counts }) => ({ at: timestampFromMs(atMs), ...counts })) };
    },
  };
}

/** Throws `organization_not_found` for one out of scope; an empty id names none. */
async function requireFound(db: Database, context: CallContext, orgId: string): Promise<void> {
  if (orgId === "") return;
  const owner = await db.tx(context, (tx) => findOwner(tx, context.caller, orgId, true), { readOnly: true });
  if (owner === null) throw organizationNotFound();
}

function admit(context: CallContext): void {
  requirePermission(context, "devices:read");
  requireOrganization(context);
}

function periodIn(period: MetricPeriod | undefined, leastSeconds?: number): Period {
  const { from, to, stepSeconds = 0 } = period ?? {};
  if (!from || !to) throw validationError({ [from ? "to" : "from"]: ["Required"] });
  return periodOf(timestampDate(from), timestampDate(to), stepSeconds, leastSeconds);
}
