import {
  type CallContext,
  type Caller,
  isReadOnly,
  ownMeta,
  type PortalCapability,
  systemCaller,
  uuidv7,
} from "@muster/kit";

type Change = Partial<Omit<Caller, "actor">> & { actor?: Partial<Caller["actor"]> };

function userWith(scope: Caller["scope"], change: Change): Caller {
  const id = uuidv7();
  const { actor, ...rest } = change;
  return {
    actor: {
      type: "user",
      id,
      email: `${id}@example.com`,
      name: "Test User",
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
  platformAdmin: (change: Change = {}) => userWith("system", { orgAccess: { mode: "all" }, ...change }),
  partnerAdmin: (partnerId: string, change: Change = {}) =>
    userWith("partner", { partnerId, orgAccess: { mode: "all" }, ...change }),
  partnerWithList: (partnerId: string, orgIds: string[], change: Change = {}) =>
    userWith("partner", { partnerId, orgAccess: { mode: "list", orgIds }, ...change }),
  orgAdmin: (partnerId: string, orgId: string, change: Change = {}) =>
    userWith("organization", { partnerId, orgId, ...change }),
  portal(partnerId: string, orgId: string, capabilities: readonly PortalCapability[] = []): Caller {
    const linkId = uuidv7();
    const actor = { type: "portal", id: linkId, email: null, name: "portal: Test", role: null } as const;
    return {
      ...userWith("organization", { partnerId, orgId, actor, sessionId: null }),
      permissions: isReadOnly(capabilities) ? ["webhooks:read"] : ["webhooks:read", "webhooks:write"],
      portal: { linkId, capabilities, author: { type: "user", id: uuidv7(), name: "Test User" } },
    };
  },
  service: (name: string) => systemCaller(name),
};

/** The context of a call that a test makes without an RPC. */
export const contextOf = (caller: Caller): CallContext => {
  return { caller, meta: ownMeta(), deadlineMs: null, signal: new AbortController().signal };
};
