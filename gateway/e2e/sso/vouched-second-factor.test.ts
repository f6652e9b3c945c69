import { afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { decodeJwt } from "jose";
import type { Api } from "../support/client.ts";
import { newAccount } from "../support/identity-provider.ts";
import { newProvider, signInThrough } from "../support/login-flow.ts";
import { ownProvider } from "../support/own-provider.ts";
import { tenantWithAdmins } from "../support/tenant-with-admins.ts";

const { cluster, idp } = ownProvider();

const header = { alg: "RS256", kid: "first" };
/** From now on ID tokens name these methods (RFC 8176). */
const authenticateBy = (amr: unknown) =>
  idp.tampers.set("/token", async (body) => {
    const claims = { ...decodeJwt(String(body.id_token)), amr };
    return { ...body, id_token: await idp.sign(claims, header, idp.privateKey) };
  });
afterEach(() => void idp.tampers.delete("/token"));

/** An organization that requires a second factor, with a provider that is believed about it or not. */
async function requiring(trustIdpMfa: boolean) {
  const { orgId, admin } = await tenantWithAdmins(cluster);
  await newProvider(admin.api, idp, { trustIdpMfa });
  const path = `/orgs/organizations/${orgId}/sign-in-policy`;
  const require = async (requireSecondFactor: boolean) =>
    expect((await admin.api.call("PUT", path, { requireSecondFactor })).status).toBe(200);
  await require(true);
  return { orgId, require };
}

const listDevices = async (by: Api) => {
  const { status, body } = await by.call("GET", "/devices");
  return body.code ?? status;
};

describe("a second factor that an organization requires, in a sign-in through its identity provider", () => {
  let believed: Awaited<ReturnType<typeof requiring>>;
  let doubted: Awaited<ReturnType<typeof requiring>>;
  beforeAll(async () => {
    [believed, doubted] = await Promise.all([requiring(true), requiring(false)]);
  }, 60_000);

  const signIn = ({ orgId }: { orgId: string }, amr: unknown) => {
    idp.become(newAccount());
    authenticateBy(amr);
    return signInThrough(cluster, orgId);
  };

  it("is there when the provider is believed and names more than one", async () => {
    const { api } = await signIn(believed, ["pwd", "mfa"]);
    expect(await listDevices(api)).toBe(200);
    expect((await api.call("GET", "/auth/me")).body.secondFactorRequired).not.toBe(true);
  });

  it.each<[string, unknown]>([
    ["one method", ["pwd"]],
    ["no method", undefined],
    ["no list of methods", "mfa"],
  ])("is missing when it names %s", async (_what, amr) => {
    expect(await listDevices((await signIn(believed, amr)).api)).toBe("mfa_required");
  });

  it("is missing when the provider is not believed, until it is no longer required", async () => {
    const { api } = await signIn(doubted, ["pwd", "mfa"]);
    expect(await listDevices(api)).toBe("mfa_required");
    expect((await api.call("GET", "/auth/me")).body.secondFactorRequired).toBe(true);
    await doubted.require(false);
    expect(await listDevices(api)).toBe(200);
  });
});
