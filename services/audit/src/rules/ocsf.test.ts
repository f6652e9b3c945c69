import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "@jest/globals";
import { zeroUuid } from "@muster/kit";
import { Ajv, type ValidateFunction } from "ajv";
import { aChainRow } from "../testing/chain-row.ts";
import { activityName, jsonSchemaOf, uidsOf, version } from "../testing/ocsf/json-schema.ts";
import type { ChainRow } from "./chain-row.ts";
import { mayEmit } from "./emitters.ts";
import type { Entry } from "./entry.ts";
import { ocsfEvent, ocsfVersion } from "./ocsf.ts";
import { activityOf, type ClassName, classes } from "./ocsf-activities.ts";

const ajv = new Ajv({ allErrors: true, strict: true, strictRequired: false });
const validators = new Map<string, ValidateFunction>();
function validatorOf(name: ClassName): ValidateFunction {
  const found = validators.get(name) ?? ajv.compile(jsonSchemaOf(name));
  validators.set(name, found);
  return found;
}

const { entry } = aChainRow({ action: "user.login", resourceType: "user", resourceName: "Grace" });
const rowOf = (changes: Partial<Entry>): ChainRow => aChainRow({ ...entry, ...changes });

/** What is wrong with the event of a row by the definitions of its class; null when nothing is. */
function problemsOf(changes: Partial<Entry>): unknown {
  const event = ocsfEvent(rowOf(changes));
  const validate = validatorOf(activityOf(changes.action ?? entry.action).class);
  return validate(event) ? null : { action: changes.action, errors: validate.errors };
}

/** Every action that a route or a service names: the catalogue. */
function actionsInCode(): string[] {
  const root = fileURLToPath(new URL("../../../../", import.meta.url));
  const services = ["identity", "tenancy", "audit", "device-logs", "webhook-dispatcher", "agent-release"];
  const texts = ["gateway/src/routes", ...services.map((name) => `services/${name}/src`)].flatMap((folder) =>
    readdirSync(`${root}${folder}`, { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts") && !file.includes("testing/"))
      .map((file) => readFileSync(`${root}${folder}/${file}`, "utf8")),
  );
  const named = texts.flatMap((text) => [...text.matchAll(/"([a-z_]+(?:\.[a-z_]+)+)"/g)].map(([, name = ""]) => name));
  const isAction = (action: string) => services.some((service) => mayEmit(service, { action, result: "success" }));
  return [...new Set(named)].filter(isAction).sort();
}

describe("an audit row as an event of OCSF", () => {
  const actions = actionsInCode();

  it("finds the catalogue of actions", () => {
    expect(actions.length).toBeGreaterThan(90);
    expect(actions).toEqual(expect.arrayContaining(["user.login", "webhook.create", "agent_version.promote"]));
  });

  it("is of the version whose definitions it is tested with", () => {
    expect(ocsfVersion).toBe(version);
    for (const [name, { uid, category }] of Object.entries(classes)) {
      expect({ classUid: uid, categoryUid: category.uid }).toEqual(uidsOf(name));
    }
  });

  it.each(actions)("follows the definitions for %s, of every kind of caller and result", (action) => {
    for (const actorType of ["user", "api_key", "agent", "system"] as const)
      for (const result of ["success", "failure", "denied"] as const)
        expect(problemsOf({ action, actorType, result })).toBeNull();
  });

  it.each(actions)("calls the activity of %s as its class does", (action) => {
    const { class: ofClass, id, name } = activityOf(action);
    if (id === 99) expect(activityName(ofClass, id)).toBeUndefined();
    else expect(name).toBe(activityName(ofClass, id));
  });

  it.each(["custom.door.opened", "__proto__", "constructor", "something.new"])("keeps %s as API Activity", (action) => {
    expect(problemsOf({ action })).toBeNull();
    expect(ocsfEvent(rowOf({ action }))).toMatchObject({ class_uid: 6003, type_uid: 600_399, activity_name: action });
  });

  it("follows the definitions when everything that may be missing is", () => {
    const bare = {
      actorEmail: null,
      actorName: null,
      actorRole: null,
      sessionId: null,
      resourceName: null,
      ipAddress: null,
      userAgent: null,
      actorId: zeroUuid,
      resourceId: zeroUuid,
      orgId: null,
      partnerId: null,
    };
    for (const action of actions) expect(problemsOf({ ...bare, action })).toBeNull();
  });

  it("follows the definitions with addresses and names that its patterns do not take", () => {
    for (const actorEmail of ["ada@localhost", "ü@example.com", "no address", "a@b.c, d@e.f"])
      expect(problemsOf({ actorEmail })).toBeNull();
    for (const ipAddress of ["::1", "2001:db8::7", "::ffff:1.2.3.4"]) expect(problemsOf({ ipAddress })).toBeNull();
    expect(problemsOf({ timestamp: new Date(Number.NaN) })).toBeNull();
  });

  it("says who did what to whom, and keeps the rest under `unmapped`", () => {
    expect(ocsfEvent(rowOf({ action: "user.disable", result: "denied", errorMessage: "no" }))).toMatchObject({
      class_uid: 3001,
      activity_id: 5,
      type_uid: 300_105,
      status_id: 2,
      status_detail: "no",
      severity_id: 3,
      time: Date.parse("2026-03-01T10:00:00.123Z"),
      actor: { user: { uid: entry.actorId, email_addr: "ada@example.com" }, session: { uid: entry.sessionId } },
      user: { uid: entry.resourceId, name: "Grace" },
      src_endpoint: { ip: "203.0.113.7" },
      metadata: { uid: entry.id, sequence: 7, tenant_uid: entry.chainId },
      unmapped: {
        action: "user.disable",
        details: { changedFields: ["name"] },
        seq: 7,
        checksum: "c",
        prevChecksum: "p",
      },
    });
  });
});

describe("definitions as JSON Schema", () => {
  it("refuse what is missing, of another type, of no listed value and what no definition names", () => {
    const valid = ocsfEvent(rowOf({}));
    const wrong: Record<string, unknown>[] = [
      { ...valid, time: "now" },
      { ...valid, severity_id: 42 },
      { ...valid, activity_id: 8 },
      { ...valid, class_uid: undefined, user: undefined },
      { ...valid, service: undefined },
      { ...valid, user: {} },
      { ...valid, src_endpoint: { ip: "no address" } },
      { ...valid, colour: "red" },
      // Of a profile that the event does not name.
      { ...valid, action_id: 1 },
    ];
    for (const event of wrong) expect(validatorOf("authentication")(JSON.parse(JSON.stringify(event)))).toBe(false);
  });
});
