import { create } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { uuidv7 } from "@muster/kit";
import { RolloutService } from "@muster/proto/muster/release/v1/rollout_pb";
import { RolloutTemplateSchema, RolloutTemplateService } from "@muster/proto/muster/release/v1/template_pb";
import { register } from "@muster/rpc";
import { callers, outcome, type TestPort, testPort } from "@muster/testing";
import { startRelease, type TestRelease } from "../testing/release.ts";
import { rolloutService } from "./rollout.ts";
import { rolloutTemplateService } from "./template.ts";

let service: TestRelease;
let port: TestPort;
/** Every ring has devices, and every id exists. */
const countDevices = async (rings: readonly unknown[]) => ({
  groups: [{ agentVersion: "1.0.0", audiences: rings.map((_, at) => at), devices: 10 }],
  unknownIds: [],
});
beforeAll(async () => {
  service = await startRelease();
  const { db, now, plan, ramp } = service.deps;
  const deps = { db, now, countDevices, mfaMaxAgeMinutes: 15 };
  port = await testPort("agent-release", [
    register(RolloutTemplateService, rolloutTemplateService(deps)),
    register(RolloutService, rolloutService({ ...deps, plan, ramp, stagedMax: 10 })),
  ]);
});
afterAll(async () => {
  await port?.close();
  await service?.stop();
});

const permissions = ["agent-releases:read", "platform:admin"];
const administrator = () => callers.platformAdmin({ permissions, mfaAt: new Date() });
const templates = (caller = administrator()) => port.client(RolloutTemplateService, caller);
const rollouts = () => port.client(RolloutService, administrator());
const templateOf = (change: object = {}) =>
  create(RolloutTemplateSchema, { name: `pilot ${uuidv7()}`, percent: 20, waveSuccessPercent: 90, ...change });
const rings = [
  { name: "Pilot", os: ["linux"] },
  { name: "All", os: ["linux", "windows", "darwin"] },
];

describe("a template of rollouts", () => {
  it("gives a new rollout what it does not name, and later changes change no rollout", async () => {
    const { template } = await templates().createTemplate({ template: templateOf({ rings, openRings: 1 }) });
    const templateId = template?.id ?? "";
    await service.stage("3.0.0");
    const wanted = { component: "agent", version: "3.0.0", templateId, percent: 5 };
    const { rollout } = await rollouts().createRollout(wanted);
    expect(rollout).toMatchObject({ percent: 5, waveSuccessPercent: 90, openRings: 1 });
    expect(rollout?.rings.map(({ name }) => name)).toEqual(["Pilot", "All"]);
    expect(await service.lastAudit("agent_update.rollout.create")).toMatchObject({
      changes: { after: { template: template?.name } },
    });
    await templates().replaceTemplate({ template: templateOf({ id: templateId, percent: 50 }) });
    expect((await templates().getTemplate({ id: templateId })).template).toMatchObject({ percent: 50, rings: [] });
    expect((await rollouts().getRollout({ id: rollout?.id ?? "" })).rollout?.rings).toHaveLength(2);
    await templates().deleteTemplate({ id: templateId });
    expect(await outcome(templates().getTemplate({ id: templateId }))).toBe("rollout_template_not_found");
    expect(await outcome(rollouts().createRollout(wanted))).toBe("rollout_template_not_found");
  });

  it("has a name of its own, and is listed, newest first", async () => {
    const [one, two] = [templateOf(), templateOf()];
    const { template } = await templates().createTemplate({ template: one });
    await templates().createTemplate({ template: two });
    const again = create(RolloutTemplateSchema, { name: one.name.toUpperCase() });
    expect(await outcome(templates().createTemplate({ template: again }))).toBe("name_taken");
    const renamed = create(RolloutTemplateSchema, { id: template?.id ?? "", name: two.name });
    expect(await outcome(templates().replaceTemplate({ template: renamed }))).toBe("name_taken");
    const { templates: listed } = await templates().listTemplates({});
    const names = listed.map(({ name }) => name).filter((name) => [one.name, two.name].includes(name));
    expect(names).toEqual([two.name, one.name]);
  });

  it.each([
    [{ name: "" }, "name"],
    [{ percent: 101 }, "percent"],
    [{ openRings: 1 }, "openRings"],
    [{ rings: [{ name: "none" }] }, "rings.0"],
  ])("is refused as %j", async (change, field) => {
    expect(await outcome(templates().createTemplate({ template: templateOf(change) }))).toBe(
      `validation_failed ${field}`,
    );
  });

  it("belongs to the platform's administrators, who have completed a second factor", async () => {
    const withoutFactor = templates(callers.platformAdmin({ permissions, mfaAt: null }));
    expect(await outcome(withoutFactor.createTemplate({ template: templateOf() }))).toMatch(/^mfa_required/);
    const partner = templates(callers.partnerAdmin(uuidv7(), { permissions, mfaAt: new Date() }));
    expect(await outcome(partner.listTemplates({}))).toMatch(/^scope_not_allowed/);
    expect(await outcome(partner.deleteTemplate({ id: uuidv7() }))).toMatch(/^scope_not_allowed/);
  });
});
