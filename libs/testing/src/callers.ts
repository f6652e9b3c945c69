import { type Caller, systemCaller, uuidv7 } from "@muster/kit";

type Change = Partial<Omit<Caller, "actor">> & { actor?: Partial<Caller["actor"]> };

function person(scope: Caller["scope"], change: Change): Caller {
  const id = uuidv7();
  const { actor, ...rest } = change;
  return {
    actor: {
      type: "user",
      id,
      email: `${id}@example.com`,
      name: "Test Person",
      role: "test",
      department: null,
      ...actor,
    },
    scope,
    partnerId: null,
    orgId: null,
    orgAccess: { mode: "list", orgIds: [] },
    siteIds: null,
    permissions: ["organizations:read", "organizations:write", "audit:read"],
    mfaAt: null,
    sessionId: uuidv7(),
    keyId: null,
    ...rest,
  };
}

/** Callers for tests; each is a new user. */
export const callers = {
  platformAdmin: (change: Change = {}) => person("system", { orgAccess: { mode: "all" }, ...change }),
  partnerAdmin: (partnerId: string, change: Change = {}) =>
    person("partner", { partnerId, orgAccess: { mode: "all" }, ...change }),
  partnerWithList: (partnerId: string, orgIds: string[], change: Change = {}) =>
    person("partner", { partnerId, orgAccess: { mode: "list", orgIds }, ...change }),
  orgAdmin: (partnerId: string, orgId: string, change: Change = {}) =>
    person("organization", { partnerId, orgId, ...change }),
  service: (name: string) => systemCaller(name),
};
