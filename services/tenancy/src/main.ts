import { DeviceGroupService, DeviceService } from "@muster/proto/muster/tenancy/v1/device_pb";
import { OrganizationService } from "@muster/proto/muster/tenancy/v1/organization_pb";
import { PartnerService } from "@muster/proto/muster/tenancy/v1/partner_pb";
import { SiteService } from "@muster/proto/muster/tenancy/v1/site_pb";
import { SnapshotService } from "@muster/proto/muster/tenancy/v1/snapshot_pb";
import { register } from "@muster/rpc";
import { runService } from "@muster/service";
import { migrations, settings, version } from "./config.ts";
import { deviceService } from "./rpc/device.ts";
import { deviceGroupService } from "./rpc/device-group.ts";
import { organizationService } from "./rpc/organization.ts";
import { partnerService } from "./rpc/partner.ts";
import { siteService } from "./rpc/site.ts";
import { snapshotService } from "./rpc/snapshot.ts";

await runService({
  name: "tenancy",
  version,
  settings,
  migrations,
  async start({ db }) {
    const deps = { db, now: () => new Date() };
    return [
      register(PartnerService, partnerService(deps)),
      register(OrganizationService, organizationService(deps)),
      register(SiteService, siteService(deps)),
      register(DeviceService, deviceService(deps)),
      register(DeviceGroupService, deviceGroupService(deps)),
      register(SnapshotService, snapshotService(deps)),
    ];
  },
});
