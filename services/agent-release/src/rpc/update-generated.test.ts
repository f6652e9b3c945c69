import { create } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Query, sql } from "@muster/db";
import { signNote, uuidv7 } from "@muster/kit";
import { type DeviceFacts, DeviceFactsSchema } from "@muster/proto/muster/common/v1/device_pb";
import { Rule, UpdateService } from "@muster/proto/muster/release/v1/update_pb";
import { register } from "@muster/rpc";
import { callers, type TestPort, testPort } from "@muster/testing";
import fc from "fast-check";
import { releaseSigner, startRelease, type TestRelease } from "../testing/release.ts";
import { updateService } from "./update.ts";

const devices = new Map<string, DeviceFacts>();
let service: TestRelease;
let port: TestPort;
let staged: string;
beforeAll(async () => {
  service = await startRelease();
  const tenancy = { device: async (id: string) => devices.get(id) ?? null };
  port = await testPort("agent-release", [register(UpdateService, updateService({ ...service.deps, tenancy }))]);
  await service.release("1.1.0");
  await service.release("1.2.0");
  staged = await service.stage("1.3.0", { rings: [ring([])], open_rings: 1 });
  await service.stage("1.4.0", { state: "cancelled" });
});
afterAll(async () => {
  await port?.close();
  await service?.stop();
});

const ring = (orgIds: string[]) => ({ name: "first", partnerIds: [], orgIds, siteIds: [], groupIds: [] });
const otherDay = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"][(new Date().getUTCDay() + 3) % 7] as string;

/** Columns of settings that a change of this test sets. */
const settable = new Set<string>();
/** Sets a field of the organization's settings, or of its partner's. */
function set(column: Query, value: string | number | string[] | null, ofPartner = false) {
  settable.add(column.text);
  return (of: DeviceFacts) =>
    service.changeSettings(
      of.partnerId,
      sql`
    INSERT INTO update_settings AS u (partner_id, org_id, ${column}, updated_at)
    VALUES (${of.partnerId}::uuid, ${ofPartner ? null : of.orgId}::uuid, ${value}, now())
    ON CONFLICT (partner_id, coalesce(org_id, '00000000-0000-0000-0000-000000000000'::uuid))
    DO UPDATE SET ${column} = excluded.${column}`,
    );
}
const minuteNow = new Date().getUTCHours() * 60 + new Date().getUTCMinutes();
const inTwoHours = (minuteNow + 120) % 1_440;
const note = signNote(
  `${JSON.stringify({ component: "agent", version: "1.1.0", counter: 9, scope: "*", expires: "2100-01-01T00:00:00Z" })}\n`,
  releaseSigner,
);
/** Changes a rollout of the device's partner, which exists from the first of these changes on. */
const onPartners = (change: Query) => (of: DeviceFacts) =>
  service
    .change(sql`
    WITH added AS (
      INSERT INTO rollout (id, release_id, partner_id, kind, state, max_in_flight, halt_failures, halt_percent, soak_seconds,
                           created_by, created_at, updated_at)
      SELECT gen_random_uuid(), id, ${of.partnerId}::uuid, 'staged', 'cancelled', 1000, 50, 3, 0, 'test', now(), now()
      FROM release WHERE version = '1.4.0' AND NOT EXISTS (SELECT FROM rollout WHERE partner_id = ${of.partnerId}::uuid)
      RETURNING id)
    SELECT id FROM added`)
    .then(() => service.change(sql`UPDATE rollout SET ${change} WHERE partner_id = ${of.partnerId}::uuid`));
const guardOf = (version: string) =>
  sql`kind = 'guard' AND release_id = (SELECT id FROM release WHERE version = ${version})`;
const onRelease = (version: string, change: Query) => () =>
  service.change(sql`UPDATE release SET ${change} WHERE version = ${version}`);
const onStaged = (change: Query) => () => service.change(sql`UPDATE rollout SET ${change} WHERE id = ${staged}::uuid`);
const onGuard = (version: string, state: string) => () =>
  service.change(sql`UPDATE rollout SET state = ${state} WHERE ${guardOf(version)}`);
const promote = (version: string) => () =>
  service.change(sql`
    UPDATE promotion SET release_id = (SELECT id FROM release WHERE version = ${version}) WHERE component = 'agent'`);
const fact = (change: Partial<DeviceFacts>) => async (of: DeviceFacts) => void Object.assign(of, change);

/** A version is known by the heartbeat that reports it, which moves an open attempt: back to an older one it fails. */
const runs = (agentVersion: string) => (of: DeviceFacts) => heartbeat(Object.assign(of, { agentVersion }));

/** Everything that may change between two heartbeats, each with its way back. */
const changes: Record<string, (of: DeviceFacts) => Promise<unknown>> = {
  "pin of the organization": set(sql`agent_target`, "1.0.0"),
  "pin of a version": set(sql`agent_target`, "1.1.0"),
  "pin latest": set(sql`agent_target`, "latest"),
  "no pin": set(sql`agent_target`, null),
  "pin of the partner": set(sql`agent_target`, "1.1.0", true),
  "no pin of the partner": set(sql`agent_target`, null, true),
  manual: set(sql`update_policy`, "manual"),
  automatic: set(sql`update_policy`, "automatic"),
  "manual by the partner": set(sql`update_policy`, "manual", true),
  "no policy of the partner": set(sql`update_policy`, null, true),
  "window closed": set(sql`window_days`, [otherDay]),
  "no window": set(sql`window_days`, null),
  "window begins later": set(sql`window_start`, inTwoHours),
  "no begin of the window": set(sql`window_start`, null),
  "window ends soon after": set(sql`window_end`, Math.min(1_440, inTwoHours + 60)),
  "no end of the window": set(sql`window_end`, null),
  "rollback note": set(sql`rollback_note`, note),
  "no rollback note": set(sql`rollback_note`, null),
  "rollout of the partner": onPartners(sql`state = 'running'`),
  "rollout of the partner paused": onPartners(sql`state = 'paused'`),
  "rollout of the partner for others": onPartners(sql`percent = 0`),
  "rollout of the partner for all": onPartners(sql`percent = 100`),
  "rollout of the partner over": onPartners(sql`state = 'completed'`),
  "version of the partner halted": onGuard("1.4.0", "halted"),
  "version of the partner not halted": onGuard("1.4.0", "running"),
  "system halted": () =>
    service.change(sql`
      INSERT INTO rollout_part (rollout_id, kind, name, failed, halted_at, reason)
      SELECT id, 'platform', 'linux/amd64', 3, now(), 'test' FROM rollout WHERE ${guardOf("1.2.0")}
      ON CONFLICT (rollout_id, kind, name) DO UPDATE SET halted_at = now()`),
  "system not halted": () => service.change(sql`UPDATE rollout_part SET halted_at = NULL`),
  "ring of a label": onStaged(sql`rings = ${JSON.stringify([{ ...ring([]), labels: { env: "test" } }])}::jsonb`),
  labelled: fact({ labels: { env: "test" } }),
  "without labels": fact({ labels: {} }),
  "in the ring": (of) =>
    service.change(
      sql`UPDATE rollout SET rings = ${JSON.stringify([ring([of.orgId])])}::jsonb WHERE id = ${staged}::uuid`,
    ),
  "not in the ring": onStaged(sql`rings = ${JSON.stringify([ring([])])}::jsonb`),
  "ring closed": onStaged(sql`open_rings = 0`),
  "ring open": onStaged(sql`open_rings = 1`),
  "no percent": onStaged(sql`percent = 0`),
  "all percent": onStaged(sql`percent = 100`),
  "rollout paused": onStaged(sql`state = 'paused'`),
  "rollout halted": onStaged(sql`state = 'halted'`),
  "rollout cancelled": onStaged(sql`state = 'cancelled'`),
  "rollout running": onStaged(sql`state = 'running'`),
  "guard halted": onGuard("1.2.0", "halted"),
  "guard running": onGuard("1.2.0", "running"),
  yanked: onRelease("1.2.0", sql`yanked_at = now()`),
  "not yanked": onRelease("1.2.0", sql`yanked_at = NULL`),
  untrusted: onRelease("1.2.0", sql`manifest = 'x' || ltrim(manifest, 'x')`),
  trusted: onRelease("1.2.0", sql`manifest = ltrim(manifest, 'x')`),
  expired: onRelease("1.2.0", sql`expires_at = now() - interval '1 minute'`),
  "not expired": onRelease("1.2.0", sql`expires_at = NULL`),
  "minimum version": onRelease("1.2.0", sql`minimum_version = '1.1.0'`),
  "no minimum version": onRelease("1.2.0", sql`minimum_version = NULL`),
  "promoted older": promote("1.1.0"),
  "promoted newer": promote("1.2.0"),
  "updates off": fact({ autoUpdateEnabled: false }),
  "updates on": fact({ autoUpdateEnabled: true }),
  quarantined: fact({ status: "quarantined" }),
  approved: fact({ status: "online" }),
  "another system": fact({ arch: "arm64" }),
  "its system": fact({ arch: "amd64" }),
  requested: ({ id: deviceId }) => root().requestUpdate({ deviceId }),
  started: (of) => heartbeat(of, "downloading"),
  "runs 1.1.0": runs("1.1.0"),
  "runs 1.2.0": runs("1.2.0"),
  nothing: async () => undefined,
};
const undone = [
  "not in the ring",
  "ring open",
  "all percent",
  "rollout running",
  "guard running",
  "version of the partner not halted",
  "system not halted",
  "not yanked",
  "trusted",
  "not expired",
  "no minimum version",
  "promoted newer",
];

const root = () =>
  port.client(UpdateService, callers.platformAdmin({ permissions: ["devices:read", "devices:write"] }));
function newDevice(): DeviceFacts {
  const owner = { id: uuidv7(), orgId: uuidv7(), partnerId: uuidv7(), siteId: uuidv7(), groupIds: [] };
  const machine = { os: "linux", arch: "amd64", agentVersion: "1.0.0", autoUpdateEnabled: true, status: "online" };
  const facts = create(DeviceFactsSchema, { ...owner, ...machine });
  devices.set(facts.id, facts);
  return facts;
}
/** What the decision says that the next heartbeat is offered. */
async function decided(deviceId: string): Promise<string[]> {
  const { components, attempts } = await root().getDecision({ deviceId });
  return components.flatMap(({ component, target, decidingRule }) => {
    const isOpen = attempts.some((each) => each.component === component && each.state === "offered");
    return decidingRule === Rule.OFFERED || (decidingRule === Rule.IN_PROGRESS && isOpen)
      ? [`${component} ${target}`]
      : [];
  });
}
async function heartbeat(device: DeviceFacts, state = ""): Promise<string[]> {
  const [open] = (await root().getDecision({ deviceId: device.id })).attempts;
  const report = { component: "agent", version: open?.version ?? "", state, error: "" };
  const questions = [{ device, ...(state === "" ? {} : { report }) }];
  const { answers } = await port.client(UpdateService, callers.service("gateway")).decide({ devices: questions });
  return answers.flatMap(({ offers }) => offers.map(({ component, version }) => `${component} ${version}`));
}

describe("the decision about a device", () => {
  it("is compared under changes of every setting", async () => {
    // A pin of the watchdog is one of the agent by another name: gate.test.ts.
    const others = ["partner_id", "org_id", "version", "updated_at", "watchdog_target"];
    const columns = await service.read<{ name: string }>(
      sql`SELECT column_name::text AS name FROM information_schema.columns WHERE table_name = 'update_settings'`,
    );
    expect([...settable].sort()).toEqual(
      columns
        .map(({ name }) => name)
        .filter((each) => !others.includes(each))
        .sort(),
    );
  });

  it("is what its next heartbeat is answered, whatever was changed since the one before", async () => {
    const step = fc.constantFrom(...Object.keys(changes));
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 6 }), async (steps) => {
        const device = newDevice();
        try {
          for (const each of ["nothing", ...steps]) {
            await changes[each]?.(device);
            const expected = await decided(device.id);
            expect([each, await heartbeat(device)]).toEqual([each, expected]);
          }
        } finally {
          for (const each of undone) await changes[each]?.(device);
        }
      }),
      {
        numRuns: 150,
        endOnFailure: true,
        examples: [
          ...Object.keys(changes).map((each) => [each]),
          ...Object.keys(changes).map((each) => ["started", each]),
          ["runs 1.2.0", "runs 1.1.0"],
        ].map((each) => [each]),
      },
    );
  }, 120_000);
});
