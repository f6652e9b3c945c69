import { fileURLToPath } from "node:url";
import { fromBinary } from "@bufbuild/protobuf";
import { type Database, openDatabase, sql } from "@muster/db";
import { type Caller, createLogger, systemCaller, uuidv7 } from "@muster/kit";
import { type AuditEvent, AuditEventSchema } from "@muster/proto/muster/events/v1/audit_pb";
import { type TenantChanged, TenantChangedSchema } from "@muster/proto/muster/events/v1/tenancy_pb";
import { OrganizationService } from "@muster/proto/muster/tenancy/v1/organization_pb";
import { type Partner, PartnerService } from "@muster/proto/muster/tenancy/v1/partner_pb";
import { SiteService } from "@muster/proto/muster/tenancy/v1/site_pb";
import { SnapshotService } from "@muster/proto/muster/tenancy/v1/snapshot_pb";
import { register } from "@muster/rpc";
import { callers, type TestDatabase, type TestPort, testDatabase, testPort } from "@muster/testing";
import { organizationService } from "../rpc/organization.ts";
import { partnerService } from "../rpc/partner.ts";
import { siteService } from "../rpc/site.ts";
import { snapshotService } from "../rpc/snapshot.ts";

export type Emitted = {
  subject: string;
  msgId: string;
  event: TenantChanged | null;
  audit: (AuditEvent & { details: Record<string, never> }) | null;
};

export type TestTenancy = Awaited<ReturnType<typeof startTenancy>>;

/** The service on a real port and a real database; `anotherProcess` serves the same database from its own pool. */
export async function startTenancy() {
  const database: TestDatabase = await testDatabase({
    service: "tenancy",
    dirs: [{ label: "tenancy", path: fileURLToPath(new URL("../../migrations/", import.meta.url)) }],
  });
  const closing: (() => Promise<void>)[] = [];
  const port = await serve(database.db);
  const system = { caller: systemCaller("tenancy") };

  const clients = (on: TestPort) => ({
    partners: (caller: Caller) => on.client(PartnerService, caller),
    organizations: (caller: Caller) => on.client(OrganizationService, caller),
    sites: (caller: Caller) => on.client(SiteService, caller),
    snapshots: (caller: Caller) => on.client(SnapshotService, caller),
  });
  const own = clients(port);
  const admin = callers.platformAdmin();

  return {
    ...own,
    database,
    /** What the outbox holds of a record, in order. */
    async emitted(id: string): Promise<Emitted[]> {
      const rows = await database.db.read<{ subject: string; msg_id: string; body: Buffer }>(
        system,
        sql`SELECT subject, msg_id, body FROM outbox ORDER BY id`,
      );
      return rows.map(decode).filter(({ event, audit }) => event?.id === id || audit?.resourceId === id);
    },
    /** Number of rows and messages: refused requests do not change it. */
    async footprint(): Promise<string> {
      const [row] = await database.db.read<{ text: string }>(
        system,
        sql`SELECT concat_ws('/', (SELECT count(*) FROM partners), (SELECT sum(version) FROM partners),
              (SELECT count(*) FROM organizations), (SELECT sum(version) FROM organizations),
              (SELECT count(*) FROM sites), (SELECT sum(version) FROM sites), (SELECT count(*) FROM outbox)) AS text`,
      );
      return row?.text ?? "";
    },
    async partner(change: { maxOrganizations?: number } = {}): Promise<Partner> {
      const { partner } = await own.partners(admin).createPartner({ name: "Partner", slug: slug(), ...change });
      return partner as Partner;
    },
    async organization(partnerId: string, name = "Organization"): Promise<string> {
      const { organization } = await own.organizations(admin).createOrganization({ partnerId, name, slug: slug() });
      return organization?.id as string;
    },
    async site(orgId: string, name = "Site"): Promise<string> {
      const { site } = await own.sites(admin).createSite({ orgId, name });
      return site?.id as string;
    },
    async anotherProcess() {
      const log = createLogger("test", "error");
      const db = openDatabase({ url: database.appUrl, max: 5, name: "tenancy-2", log });
      const other = await serve(db);
      closing.push(other.close, () => db.close());
      return clients(other);
    },
    async stop() {
      await port.close();
      for (const close of closing) await close();
      await database.drop();
    },
  };
}

export const slug = () => `s-${uuidv7()}`;

function serve(db: Database): Promise<TestPort> {
  const deps = { db, now: () => new Date() };
  return testPort("tenancy", [
    register(PartnerService, partnerService(deps)),
    register(OrganizationService, organizationService(deps)),
    register(SiteService, siteService(deps)),
    register(SnapshotService, snapshotService(deps)),
  ]);
}

function decode({ subject, msg_id: msgId, body }: { subject: string; msg_id: string; body: Buffer }): Emitted {
  if (!subject.startsWith("audit.")) {
    return { subject, msgId, event: fromBinary(TenantChangedSchema, body), audit: null };
  }
  const audit = fromBinary(AuditEventSchema, body);
  return { subject, msgId, event: null, audit: { ...audit, details: JSON.parse(audit.detailsJson) } };
}
