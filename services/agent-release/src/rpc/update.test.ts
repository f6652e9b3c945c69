import { create } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Query, sql } from "@muster/db";
import { uuidv7 } from "@muster/kit";
import { type DeviceFacts, DeviceFactsSchema } from "@muster/proto/muster/common/v1/device_pb";
import { Rule, UpdateService } from "@muster/proto/muster/release/v1/update_pb";
import { register } from "@muster/rpc";
import { callers, outcome, type TestPort, testPort } from "@muster/testing";
import { startRelease, type TestRelease } from "../testing/release.ts";
import { updateService } from "./update.ts";

const permissions = ["devices:read", "devices:write"];
const devices = new Map<string, DeviceFacts>();

let service: TestRelease;
let port: TestPort;
beforeAll(async () => {
  service = await startRelease();
  const tenancy = { device: async (id: string) => devices.get(id) ?? null };
  port = await testPort("agent-release", [register(UpdateService, updateService({ ...service.deps, tenancy }))]);
  await service.release("1.1.0");
  await service.change(sql`UPDATE release SET minimum_version = '1.0.0' WHERE version = '1.1.0'`);
});
afterAll(async () => {
  await port?.close();
  await service?.stop();
});

/** A device that runs 1.0.0 of the agent, known to tenancy. */
function device(change: Partial<Omit<DeviceFacts, "$typeName" | "$unknown">> = {}): DeviceFacts {
  const owner = { id: uuidv7(), orgId: uuidv7(), partnerId: uuidv7(), siteId: uuidv7(), groupIds: [] };
  const machine = { os: "linux", arch: "amd64", agentVersion: "1.0.0", autoUpdateEnabled: true, status: "online" };
  const facts = create(DeviceFactsSchema, { ...owner, ...machine, ...change });
  devices.set(facts.id, facts);
  return facts;
}
const root = () => port.client(UpdateService, callers.platformAdmin({ permissions }));
/** The rule of each component, by its name. */
async function rulesOf(deviceId: string): Promise<Record<string, string>> {
  const { components } = await root().getDecision({ deviceId });
  return Object.fromEntries(components.map((each) => [each.component, Rule[each.decidingRule].toLowerCase()]));
}
/** Calls as the device's gateway does after a heartbeat; returns the offered versions. */
async function heartbeat(of: DeviceFacts, error = ""): Promise<string[]> {
  const report = { component: "agent", version: "1.1.0", state: "failed", error };
  const questions = [{ device: of, ...(error === "" ? {} : { report }) }];
  const { answers } = await port.client(UpdateService, callers.service("gateway")).decide({ devices: questions });
  return answers.flatMap(({ offers }) => offers.map(({ version }) => version));
}
const guard = sql`release_id IN (SELECT id FROM release WHERE version = '1.1.0')`;
const ofPartner = (partnerId: string, column: Query, value: string | string[]) =>
  service.changeSettings(
    partnerId,
    sql`
    INSERT INTO update_settings (partner_id, ${column}, updated_at) VALUES (${partnerId}::uuid, ${value}, now())`,
  );
const cancel = sql`UPDATE rollout SET state = 'cancelled' WHERE kind = 'staged'`;
const otherDay = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"][(new Date().getUTCDay() + 3) % 7] as string;
const elsewhere = { name: "first", partnerIds: [], orgIds: [uuidv7()], siteIds: [], groupIds: [] };

type Case = {
  device?: Partial<Omit<DeviceFacts, "$typeName" | "$unknown">>;
  component?: string;
  before?(of: DeviceFacts): Promise<unknown>;
  after?(): Promise<unknown>;
};
const cases: Record<string, Case> = {
  not_eligible: { device: { status: "quarantined" } },
  not_reported: { component: "watchdog", device: { agentVersion: "1.1.0" } },
  auto_update_off: { device: { autoUpdateEnabled: false } },
  policy_manual: { before: ({ partnerId }) => ofPartner(partnerId, sql`update_policy`, "manual") },
  no_target: { component: "helper", device: { agentVersion: "1.1.0", helperVersion: "1.0.0" } },
  current_unparsable: { device: { agentVersion: "nightly" } },
  up_to_date: { device: { agentVersion: "1.1.0" } },
  no_artifact: { device: { arch: "arm64" } },
  below_minimum: { device: { agentVersion: "0.9.0" } },
  window_closed: { before: ({ partnerId }) => ofPartner(partnerId, sql`window_days`, [otherDay]) },
  not_in_ring: {
    device: { agentVersion: "1.1.0" },
    before: () => service.stage("2.0.0-rc.1", { rings: [elsewhere], open_rings: 1 }),
    after: () => service.change(cancel),
  },
  not_in_bucket: {
    device: { agentVersion: "1.1.0" },
    before: () => service.stage("2.0.0-rc.2", { percent: 0 }),
    after: () => service.change(cancel),
  },
  halted: {
    before: () => service.change(sql`UPDATE rollout SET state = 'halted' WHERE ${guard}`),
    after: () => service.change(sql`UPDATE rollout SET state = 'running' WHERE ${guard}`),
  },
  back_off: {
    async before(of) {
      await heartbeat(of);
      await heartbeat(of, "bad_digest");
    },
  },
  in_progress: { before: (of) => heartbeat(of) },
  in_flight_cap: {
    async before() {
      await heartbeat(device());
      await service.change(sql`UPDATE rollout SET max_in_flight = in_flight WHERE ${guard}`);
    },
    after: () => service.change(sql`UPDATE rollout SET max_in_flight = 1000 WHERE ${guard}`),
  },
  offered: {},
  release_untrusted: {
    before: () => service.change(sql`UPDATE release SET manifest = 'x' || manifest WHERE version = '1.1.0'`),
    after: () => service.change(sql`UPDATE release SET manifest = substr(manifest, 2) WHERE version = '1.1.0'`),
  },
  ahead_of_target: { device: { agentVersion: "1.2.0" } },
};

describe("the decision about a device", () => {
  it("covers every rule", () => {
    const ruleNames = Object.values(Rule).filter((name) => typeof name === "string" && name !== "UNSPECIFIED");
    expect(Object.keys(cases)).toEqual(ruleNames.map((name) => String(name).toLowerCase()));
  });

  it.each(Object.entries(cases))(
    "names %s, and the device is offered something exactly under the rules offered and in_progress",
    async (rule, of) => {
      const facts = device(of.device);
      try {
        await of.before?.(facts);
        expect((await rulesOf(facts.id))[of.component ?? "agent"]).toBe(rule);
        // What it was offered before is offered again while it is in progress.
        expect(await heartbeat(facts)).toEqual(["offered", "in_progress"].includes(rule) ? ["1.1.0"] : []);
      } finally {
        await of.after?.();
      }
    },
  );

  it("contains the time of the next check, the pin's owner, and earlier attempts", async () => {
    const facts = device();
    await ofPartner(facts.partnerId, sql`agent_target`, "1.1.0");
    await heartbeat(facts);
    await heartbeat(facts, "bad_signature");
    const { components, attempts } = await root().getDecision({ deviceId: facts.id });
    expect(components[0]).toMatchObject({ target: "1.1.0", targetSource: "partner", decidingRule: Rule.BACK_OFF });
    expect(components[0]?.nextCheckAt?.seconds).toBeGreaterThan(BigInt(Math.floor(Date.now() / 1_000)));
    expect(attempts).toMatchObject([
      { version: "1.1.0", fromVersion: "1.0.0", state: "failed", reason: "bad_signature" },
    ]);
  });

  it("is readable only by callers with the device in their scope", async () => {
    const { id: deviceId, partnerId, orgId, siteId } = device();
    const by = (caller: Parameters<TestPort["client"]>[1]) =>
      outcome(port.client(UpdateService, caller).getDecision({ deviceId }));
    const own = { permissions };
    expect({
      partner: await by(callers.partnerAdmin(partnerId, own)),
      otherPartner: await by(callers.partnerAdmin(uuidv7(), own)),
      otherList: await by(callers.partnerWithList(partnerId, [uuidv7()], own)),
      organization: await by(callers.orgAdmin(partnerId, orgId, own)),
      otherOrganization: await by(callers.orgAdmin(partnerId, uuidv7(), own)),
      site: await by(callers.orgAdmin(partnerId, orgId, { ...own, siteIds: [siteId] })),
      otherSite: await by(callers.orgAdmin(partnerId, orgId, { ...own, siteIds: [uuidv7()] })),
      nothing: await by(callers.orgAdmin(partnerId, orgId, { permissions: [] })),
    }).toEqual({
      partner: "ok",
      otherPartner: "device_not_found",
      otherList: "device_not_found",
      organization: "ok",
      otherOrganization: "device_not_found",
      site: "ok",
      otherSite: "device_not_found",
      nothing: "permission_denied",
    });
  });
});
