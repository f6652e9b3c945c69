import { create, type DescMessage, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { describe, expect, it } from "@jest/globals";
import { type Caller, createLogger } from "@muster/kit";
import {
  AgentChangedSchema,
  KeyChangedSchema,
  PortalLinkRevokedSchema,
  RoleChangedSchema,
  SessionRevokedSchema,
  SignInPolicyChangedSchema,
  TenantKeysRevokedSchema,
  TenantStatusChangedSchema,
  UserChangedSchema,
} from "@muster/proto/muster/events/v1/auth_pb";
import { AgentRecordSchema, KeyRecordSchema } from "@muster/proto/muster/identity/v1/edge_pb";
import { PortalRecordSchema } from "@muster/proto/muster/identity/v1/portal_pb";
import { PrincipalSchema } from "@muster/proto/muster/identity/v1/session_pb";
import type { Agent, KeyHolder, PortalHolder, Session } from "../route/credential.ts";
import { type AuthChange, createAuthChanges } from "./auth-changes.ts";

const caller: Caller = {
  ...{
    actor: { type: "user", id: "ada", email: null, name: null, role: null, department: null },
    scope: "system",
    partnerId: null,
    orgId: null,
  },
  ...{ orgAccess: { mode: "all" }, siteIds: null, permissions: [], mfaAt: null, sessionId: null, keyId: null },
};
const [endsAtMs, admits] = [Number.POSITIVE_INFINITY, null];
const session = (id: string, principal: MessageInitShape<typeof PrincipalSchema>): Session => ({
  ...{ kind: "session", id, caller, principal: create(PrincipalSchema, principal) },
});
const key = (id: string, orgId: string, partnerId: string): KeyHolder => ({
  ...{ kind: "key", id, caller, endsAtMs, admits, record: create(KeyRecordSchema, { id, orgId, partnerId }) },
});
const agent = (id: string, orgId: string, partnerId: string): Agent => ({
  ...{ kind: "agent", id, caller, record: create(AgentRecordSchema, { deviceId: id, orgId, partnerId }) },
});
const portal = (id: string, record: MessageInitShape<typeof PortalRecordSchema>): PortalHolder => ({
  ...{ kind: "portal", id, caller, endsAtMs, record: create(PortalRecordSchema, record) },
});

/** What is cached of two organizations, of two partners: `s`ession, `k`ey, `a`gent and `p`ortal session. */
const cached = {
  sessions: [
    session("s1", { userId: "ada", role: "admin", orgId: "o1", partnerId: "p1" }),
    session("s2", { userId: "bo", role: "viewer", orgId: "o2", partnerId: "p2" }),
    session("s3", { userId: "ada", role: "admin", orgId: "o2", partnerId: "p2" }),
  ],
  keys: [key("k1", "o1", "p1"), key("k2", "o2", "p2")],
  agents: [agent("a1", "o1", "p1"), agent("a2", "o2", "p2")],
  portals: [
    portal("l1", { orgId: "o1", partnerId: "p1", author: { type: "user", id: "ada" } }),
    portal("l2", { orgId: "o2", partnerId: "p2", author: { type: "api_key", id: "k2" } }),
  ],
};

/** Takes changes, and returns what was forgotten, changed or acknowledged, in order of the alphabet. */
function afterwards(...changes: AuthChange[]): string[] {
  const done: string[] = [];
  const cacheOf = <T extends { id: string }>(all: readonly T[], name: string) => ({
    forget: (matches: (each: T) => boolean) => done.push(...all.filter(matches).map(({ id }) => id)),
    dropAll: () => done.push(`all ${name}`),
    revoked: (id: string) => done.push(`${id} revoked`),
    changed: (change: { digests: readonly string[] } & ({ keyId: string } | { deviceId: string })) =>
      done.push(`${"keyId" in change ? change.keyId : change.deviceId} changed: ${change.digests.join(" ")}`),
  });
  const { take } = createAuthChanges({
    sessions: cacheOf(cached.sessions, "sessions"),
    keys: cacheOf(cached.keys, "keys"),
    agents: cacheOf(cached.agents, "agents"),
    portals: cacheOf(cached.portals, "portals"),
    rates: { changed: (id) => done.push(`rate of ${id}`) },
    acknowledge: async (ids) => void done.push(...ids.map((id) => `acknowledged ${id}`)),
    log: createLogger("auth-changes-test", "fatal"),
  });
  take(changes);
  return done.sort();
}

const change = <S extends DescMessage>(
  subject: string,
  schema: S,
  fields: MessageInitShape<S>,
  id = "c",
): AuthChange => ({
  ...{ id, subject, body: toBinary(schema, create(schema, fields)) },
});
const digests = [Buffer.from("one"), Buffer.from("two")];
const byTenant = (subject: string, schema: typeof TenantStatusChangedSchema | typeof TenantKeysRevokedSchema) =>
  [
    [`${subject} of an organization`, change(subject, schema, { kind: "organization", id: "o1" }), "a1 k1 l1 s1"],
    [`${subject} of a partner`, change(subject, schema, { kind: "partner", id: "p2" }), "a2 k2 l2 s2 s3"],
    [`${subject} of an id that is a partner's`, change(subject, schema, { kind: "organization", id: "p2" }), ""],
  ] satisfies [string, AuthChange, string][];

describe("what is cached of callers", () => {
  it.each<[string, AuthChange, string]>([
    ...byTenant("auth.tenant", TenantStatusChangedSchema),
    ...byTenant("auth.keys", TenantKeysRevokedSchema),
    ["a person", change("auth.user", UserChangedSchema, { userId: "ada" }), "l1 s1 s3"],
    ["a role", change("auth.role", RoleChangedSchema, { role: "admin", partnerId: "p2" }), "l1 s3"],
    ["a partner's policy", change("auth.policy", SignInPolicyChangedSchema, { kind: "partner", id: "p1" }), "s1"],
    ["a policy", change("auth.policy", SignInPolicyChangedSchema, { kind: "organization", id: "o2" }), "s2 s3"],
    ["a portal link", change("auth.portal", PortalLinkRevokedSchema, { linkId: "l2" }), "l2"],
    ["a later version's kind", { id: "c", subject: "auth.robot", body: Buffer.alloc(0) }, ""],
  ])("is resolved again after a change of %s: %#", (_name, taken, ids) => {
    expect(afterwards(taken)).toEqual([...ids.split(" ").filter(Boolean), "acknowledged c"].sort());
  });

  it("ends with a session; tokens of a key or an agent are resolved again", () => {
    expect(afterwards(change("auth.session", SessionRevokedSchema, { sessionId: "s2" }))).toContain("s2 revoked");
    expect(afterwards(change("auth.key", KeyChangedSchema, { keyId: "k2", digests }))).toEqual([
      ...["acknowledged c", "k2 changed: b25l dHdv", "l2", "rate of k2"],
    ]);
    expect(afterwards(change("auth.agent", AgentChangedSchema, { deviceId: "a1", digests }))).toEqual([
      ...["a1 changed: b25l dHdv", "acknowledged c"],
    ]);
  });

  it("is changed once by a message, which is acknowledged, however often that comes", () => {
    const taken = change("auth.session", SessionRevokedSchema, { sessionId: "s2" });
    expect(afterwards(taken, taken, { ...taken, id: "d" })).toEqual([
      ...["acknowledged c", "acknowledged d", "s2 revoked", "s2 revoked"],
    ]);
  });

  it("is all resolved again when a message cannot be read", () => {
    const unreadable = { id: "c", subject: "auth.user", body: Buffer.from([0xff]) };
    expect(afterwards(unreadable)).toEqual([
      ...["acknowledged c", "all agents", "all keys", "all portals", "all sessions"],
    ]);
  });
});
