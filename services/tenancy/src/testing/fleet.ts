import { fileURLToPath } from "node:url";
import { fromBinary } from "@bufbuild/protobuf";
import { type Database, openDatabase, sql } from "@muster/db";
import { createLogger, systemCaller, uuidv7 } from "@muster/kit";
import { type AuditEvent, AuditEventSchema } from "@muster/proto/muster/events/v1/audit_pb";
import { type DeviceChanged, DeviceChangedSchema } from "@muster/proto/muster/events/v1/tenancy_pb";
import { DeviceBulkJobService } from "@muster/proto/muster/tenancy/v1/bulk_job_pb";
import { DeviceGroupService, DeviceService } from "@muster/proto/muster/tenancy/v1/device_pb";
import { OrganizationService } from "@muster/proto/muster/tenancy/v1/organization_pb";
import { PartnerService } from "@muster/proto/muster/tenancy/v1/partner_pb";
import { SavedViewService } from "@muster/proto/muster/tenancy/v1/saved_view_pb";
import { SiteService } from "@muster/proto/muster/tenancy/v1/site_pb";
import { SnapshotService } from "@muster/proto/muster/tenancy/v1/snapshot_pb";
import { register } from "@muster/rpc";
import { callers, type TestDatabase, type TestPort, testDatabase, testPort } from "@muster/testing";
import { bulkJobService } from "../rpc/bulk-job.ts";
import { deviceService } from "../rpc/device.ts";
import { deviceGroupService } from "../rpc/device-group.ts";
import { organizationService } from "../rpc/organization.ts";
import { partnerService } from "../rpc/partner.ts";
import { savedViewService } from "../rpc/saved-view.ts";
import { siteService } from "../rpc/site.ts";
import { snapshotService } from "../rpc/snapshot.ts";

/** Permissions of the people in these tests. */
export const permissions = [
  "organizations:read",
  "organizations:write",
  "devices:read",
  "devices:write",
  "devices:delete",
];

export type Fleet = Awaited<ReturnType<typeof startFleet>>;
export type Tenant = { partnerId: string; orgId: string; siteId: string };
type DeviceOptions = {
  id?: string;
  siteId?: string;
  hostname?: string;
  hardwareId?: string;
  os?: string;
  arch?: string;
  serialNumber?: string;
  agentVersion?: string;
  labels?: Record<string, string>;
  enrollmentKeyId?: string;
  reinstall?: string;
};

/** Tenancy on two ports with a pool each, over one database. */
export async function startFleet() {
  const database: TestDatabase = await testDatabase({
    service: "tenancy",
    dirs: [{ label: "tenancy", path: fileURLToPath(new URL("../../migrations/", import.meta.url)) }],
  });
  const log = createLogger("test", "error");
  const secondDb = openDatabase({ url: database.appUrl, max: 5, name: "tenancy-2", log });
  const ports: TestPort[] = [await serve(database.db), await serve(secondDb)];
  const [port] = ports as [TestPort];
  const root = callers.platformAdmin({ permissions });
  const slug = () => `f-${uuidv7()}`;

  const createDevice = (orgId: string, options: DeviceOptions = {}, on: TestPort = port) =>
    on.client(DeviceService, callers.service("identity")).createDevice({
      id: uuidv7(),
      orgId,
      hostname: "HOST",
      os: "linux",
      arch: "amd64",
      agentVersion: "1.0.0",
      ...options,
    });

  return {
    database,
    port,
    ports,
    createDevice,
    organization: async (partnerId: string, maxDevices?: number) => {
      const wanted = { partnerId, name: "Org", slug: slug(), ...(maxDevices === undefined ? {} : { maxDevices }) };
      const { organization } = await port.client(OrganizationService, root).createOrganization(wanted);
      return organization?.id as string;
    },
    site: async (orgId: string) => {
      const { site } = await port.client(SiteService, root).createSite({ orgId, name: "Site" });
      return site?.id as string;
    },
    async tenant(caps: { partner?: number; organization?: number } = {}): Promise<Tenant> {
      const wanted = { name: "P", slug: slug(), ...(caps.partner === undefined ? {} : { maxDevices: caps.partner }) };
      const { partner } = await port.client(PartnerService, root).createPartner(wanted);
      const partnerId = partner?.id as string;
      const orgId = await this.organization(partnerId, caps.organization);
      return { partnerId, orgId, siteId: await this.site(orgId) };
    },
    /** A device with its id. */
    async device(orgId: string, options: DeviceOptions = {}): Promise<string> {
      return (await createDevice(orgId, options)).device?.id as string;
    },
    /** Messages of a device or a group in the outbox, oldest first. */
    async messagesOf(id: string): Promise<{ events: [string, DeviceChanged][]; audits: AuditEvent[] }> {
      const rows = await database.db.read<{ subject: string; body: Buffer }>(
        { caller: systemCaller("tenancy") },
        sql`SELECT subject, body FROM outbox WHERE subject LIKE 'tenancy.device.%' OR subject LIKE 'audit.%' ORDER BY id`,
      );
      const events = rows
        .filter(({ subject }) => subject.startsWith("tenancy."))
        .map(({ subject, body }): [string, DeviceChanged] => [subject, fromBinary(DeviceChangedSchema, body)])
        .filter(([, event]) => event.id === id);
      const audits = rows
        .filter(({ subject }) => subject.startsWith("audit."))
        .map(({ body }) => fromBinary(AuditEventSchema, body))
        .filter(({ resourceId }) => resourceId === id);
      return { events, audits };
    },
    async stop() {
      for (const each of ports) await each.close();
      await secondDb.close();
      await database.drop();
    },
  };
}

async function serve(db: Database): Promise<TestPort> {
  const deps = { db, now: () => new Date(), heartbeatIntervalSeconds: 60 };
  return testPort("tenancy", [
    register(PartnerService, partnerService(deps)),
    register(OrganizationService, organizationService(deps)),
    register(SiteService, siteService(deps)),
    register(DeviceService, deviceService(deps)),
    register(DeviceBulkJobService, bulkJobService(deps)),
    register(DeviceGroupService, deviceGroupService(deps)),
    register(SavedViewService, savedViewService(deps)),
    register(SnapshotService, snapshotService(deps)),
  ]);
}
