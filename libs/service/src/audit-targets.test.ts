import { fromBinary } from "@bufbuild/protobuf";
import { describe, expect, it } from "@jest/globals";
import { ownMeta, systemCaller, uuidv7 } from "@muster/kit";
import { AuditEventSchema } from "@muster/proto/muster/events/v1/audit_pb";
import { type AuditFact, auditEvent } from "./audit-event.ts";
import { targetFields, targetsIn } from "./audit-targets.ts";

const [a, b, c, d] = [uuidv7(), uuidv7(), uuidv7(), uuidv7()];
const site = { type: "site", id: a };

describe("the targets of an audit row", () => {
  it.each(Object.entries(targetFields))("are the records that its details name in %s, as %s", (field, type) => {
    const target = { type, id: b, name: null };
    for (const details of [{ [field]: b }, { [field]: [b] }, { via: { [field]: b } }]) {
      expect(targetsIn(details, { type: "other", id: a })).toEqual([target]);
    }
    const changes = { before: { [field]: c }, after: { [field]: b } };
    expect(targetsIn({ changes }, { type: "other", id: a })).toEqual([target, { ...target, id: c }]);
  });

  it.each([
    [{ keyId: b, keyName: "CI" }, "api_key", "CI"],
    [{ roleId: b, role: "org-admin" }, "role", "org-admin"],
    [{ directoryId: b, directory: "Okta" }, "directory", "Okta"],
    [{ replacedBy: b, replacedByName: "lamp" }, "device", "lamp"],
    [{ webhookId: b, webhookName: "" }, "webhook", null],
    [{ userIds: [b], userIdsName: "Ada" }, "user", null],
  ])("have the name that stands beside the id in %j", (details, type, name) => {
    const target = { type, id: b, name };
    for (const each of [details, { via: details }, { changes: { before: {}, after: details } }]) {
      expect(targetsIn(each, site)).toEqual([target]);
    }
  });

  it("are each record once, without the resource and what is no id, and 20 at most", () => {
    const changes = { before: { siteId: a, roleId: null }, after: { siteId: b, roleId: 7 } };
    expect(targetsIn({ siteId: b, changes, name: c, constructor: d }, site)).toEqual([
      { type: "site", id: b, name: null },
    ]);
    expect(targetsIn({ deviceIds: Array.from({ length: 30 }, () => uuidv7()) }, site)).toHaveLength(20);
    expect(targetsIn({ changes: "text", via: [b], siteIds: "" }, site)).toEqual([]);
  });

  it("are those that a service states, if it does, and no others", () => {
    const sent = (fact: Partial<AuditFact>) => {
      const base = { action: "site.update", resource: { ...site, name: null }, orgId: d, partnerId: c };
      const who = { caller: systemCaller("tenancy"), meta: ownMeta() };
      const { targets } = fromBinary(AuditEventSchema, auditEvent("tenancy", who, { ...base, ...fact }).body);
      return targets.map(({ type, id, name }) => ({ type, id, name }));
    };
    const details = { deviceIds: [b, c] };
    expect(sent({ details })).toEqual([b, c].map((id) => ({ type: "device", id, name: "" })));
    expect(sent({ details, targets: [{ type: "device", id: b, name: "lamp" }] })).toEqual([
      { type: "device", id: b, name: "lamp" },
    ]);
    expect(sent({ details, targets: [] })).toEqual([]);
  });
});
