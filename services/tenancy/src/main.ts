import { AttentionService } from "@muster/proto/muster/common/v1/attention_pb";
import { DeviceBulkJobService } from "@muster/proto/muster/tenancy/v1/bulk_job_pb";
import { DeviceGroupService, DeviceService } from "@muster/proto/muster/tenancy/v1/device_pb";
import { MetricService } from "@muster/proto/muster/tenancy/v1/metric_pb";
import { NameService } from "@muster/proto/muster/tenancy/v1/name_pb";
import { OrganizationService } from "@muster/proto/muster/tenancy/v1/organization_pb";
import { PartnerService } from "@muster/proto/muster/tenancy/v1/partner_pb";
import { PresenceService } from "@muster/proto/muster/tenancy/v1/presence_pb";
import { SavedViewService } from "@muster/proto/muster/tenancy/v1/saved_view_pb";
import { SiteService } from "@muster/proto/muster/tenancy/v1/site_pb";
import { SnapshotService } from "@muster/proto/muster/tenancy/v1/snapshot_pb";
import { register } from "@muster/rpc";
import { attentionService, runService } from "@muster/service";
import { migrations, settings, version } from "./config.ts";
import { startBulkJobs } from "./jobs/bulk-jobs.ts";
import { startDeviceHistory } from "./jobs/device-history.ts";
import { startMetricHistory } from "./jobs/metric-history.ts";
import { startPresenceWatch } from "./jobs/presence-watch.ts";
import { startPurging } from "./jobs/purge.ts";
import { startSiteRemovals } from "./jobs/site-removals.ts";
import { quarantinedDeviceSource } from "./rpc/attention.ts";
import { bulkJobService } from "./rpc/bulk-job.ts";
import { deviceService } from "./rpc/device.ts";
import { deviceGroupService } from "./rpc/device-group.ts";
import { metricService } from "./rpc/metric.ts";
import { nameService } from "./rpc/name.ts";
import { organizationService } from "./rpc/organization.ts";
import { partnerService } from "./rpc/partner.ts";
import { presenceService } from "./rpc/presence.ts";
import { savedViewService } from "./rpc/saved-view.ts";
import { siteService } from "./rpc/site.ts";
import { snapshotService } from "./rpc/snapshot.ts";

await runService({
  name: "tenancy",
  version,
  settings,
  migrations,
  // Gateways forward changes of devices to clients that watch them.
  alsoPublished: (subject) => (subject.startsWith("tenancy.device.") ? subject.replace("tenancy.", "changes.") : null),
  async start({ db, config, process }) {
    const heartbeatIntervalSeconds = config.HEARTBEAT_INTERVAL_SECONDS;
    const deps = { db, now: () => new Date(), heartbeatIntervalSeconds };
    const metrics = startMetricHistory({
      ...{ db, log: process.log, now: deps.now },
      days: config.METRICS_HISTORY_DAYS,
      devicesMax: config.METRICS_HISTORY_DEVICES_MAX,
    });
    process.onStop("history of metrics", () => metrics.stop());
    const states = startDeviceHistory({ db, log: process.log, now: deps.now });
    process.onStop("history of states", () => states.stop());
    const watch = startPresenceWatch({ db, log: process.log, heartbeatIntervalSeconds });
    process.onStop("presence watch", () => watch.stop());
    const purging = startPurging({ db, log: process.log, days: config.TENANT_PURGE_DAYS, now: deps.now });
    process.onStop("purges", () => purging.stop());
    const removals = startSiteRemovals({ db, log: process.log });
    process.onStop("removals of sites", () => removals.stop());
    const bulkJobs = startBulkJobs({ db, log: process.log, now: deps.now });
    process.onStop("bulk jobs", () => bulkJobs.stop());
    return [
      register(PartnerService, partnerService(deps)),
      register(OrganizationService, organizationService(deps)),
      register(SiteService, siteService(deps)),
      register(DeviceService, deviceService(deps)),
      register(PresenceService, presenceService({ ...deps, metrics: metrics.history })),
      register(DeviceBulkJobService, bulkJobService(deps)),
      register(DeviceGroupService, deviceGroupService(deps)),
      register(NameService, nameService(deps)),
      register(MetricService, metricService(deps)),
      register(SavedViewService, savedViewService(deps)),
      register(SnapshotService, snapshotService(deps)),
      register(AttentionService, attentionService(deps.db, [quarantinedDeviceSource])),
    ];
  },
});
