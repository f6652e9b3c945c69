import { beforeAll, describe, expect, it } from "@jest/globals";
import { type Authenticator, softAuthenticator } from "@muster/testing";
import { type Api, api } from "../support/client.ts";
import type { Cluster } from "../support/cluster.ts";
import { sharedCluster } from "../support/shared-cluster.ts";
import { signedInAs, type TestUser } from "../support/users.ts";

// With an authenticator in software, so that it runs everywhere; e2e/browser/passkey.test.ts does the same in a real
// browser.

let cluster: Cluster;
let outsider: Api;
beforeAll(async () => {
  cluster = await sharedCluster();
  outsider = api(cluster);
}, 180_000);

/** Origin of the local stack's PUBLIC_URL. */
const origin = () => `http://localhost:${new URL(cluster.url).port}`;
const passkeys = (by: Api, path: string, body: object) => by.call("POST", `/auth/mfa/passkeys/${path}`, body);

async function register(user: TestUser, device: Authenticator, name?: string) {
  const options = await passkeys(user.api, "register/options", { password: user.password });
  expect(options.status).toBe(200);
  const credential = device.create(options.body);
  return passkeys(user.api, "register/verify", { credential, ...(name ? { name } : {}) });
}

async function loginWith(user: TestUser, device: Authenticator) {
  const { email, password } = user;
  const { mfaToken, methods } = (await outsider.call("POST", "/auth/login", { email, password })).body;
  const options = await passkeys(outsider, "authenticate/options", { mfaToken });
  const credential = device.get(options.body);
  return {
    methods,
    reply: await passkeys(outsider, "authenticate/verify", { mfaToken, credential }),
    mfaToken,
    credential,
  };
}

describe("a passkey", () => {
  it("is registered, required at sign-in, and works once per challenge", async () => {
    const user = await signedInAs(cluster, "platform-admin");
    const device = softAuthenticator(origin());
    const made = await register(user, device, "Laptop");
    expect(made.status).toBe(200);
    expect(made.headers.get("cache-control")).toBe("private, no-store");
    expect(made.body).toMatchObject({ name: "Laptop", transports: ["internal"], backedUp: false, lastUsedAt: null });
    expect(made.body.recoveryCodes).toHaveLength(10);
    expect((await user.api.call("GET", "/auth/me")).body.mfaEnabled).toBe(true);
    expect((await user.api.call("GET", "/users")).status).toBe(200);

    const { methods, reply, mfaToken, credential } = await loginWith(user, device);
    expect(methods).toEqual(["passkey", "recovery_code"]);
    expect(reply.status).toBe(200);
    expect(reply.body).toMatchObject({ user: { email: user.email, mfaEnabled: true }, expiresInSeconds: 900 });
    const again = await passkeys(outsider, "authenticate/verify", { mfaToken, credential });
    expect([again.status, again.body.code]).toEqual([401, "invalid_mfa_token"]);
    const { data } = (await user.api.call("GET", "/auth/mfa/passkeys")).body;
    expect(data).toMatchObject([{ name: "Laptop", lastUsedAt: expect.any(String) }]);
  });

  it("steps a session up that had none, and opens what needs it", async () => {
    const user = await signedInAs(cluster, "platform-admin");
    const second = (await outsider.call("POST", "/auth/login", { email: user.email, password: user.password })).body;
    const session = api(cluster, String(second.accessToken));
    const device = softAuthenticator(origin());
    const { id } = (await register(user, device)).body;
    const remove = () => session.call("DELETE", `/auth/mfa/passkeys/${id}`);
    const before = await remove();
    expect([before.status, before.body.code]).toEqual([403, "mfa_required"]);
    const options = await passkeys(session, "authenticate/options", {});
    const stepped = await passkeys(session, "authenticate/verify", { credential: device.get(options.body) });
    expect([stepped.status, stepped.body.refreshToken]).toEqual([200, second.refreshToken]);
    expect((await remove()).body).toEqual({ success: true });
    expect((await session.call("GET", "/auth/me")).body.mfaEnabled).toBe(false);
  });

  it("from a page elsewhere is refused with 401, and five such tries are enough", async () => {
    const user = await signedInAs(cluster, "platform-admin");
    const device = softAuthenticator(origin());
    await register(user, device);
    const { email, password } = user;
    const { mfaToken } = (await outsider.call("POST", "/auth/login", { email, password })).body;
    const phished = async () => {
      const options = await passkeys(outsider, "authenticate/options", { mfaToken });
      const credential = device.get(options.body, { origin: "https://muster.example.com" });
      return passkeys(outsider, "authenticate/verify", { mfaToken, credential });
    };
    for (let i = 0; i < 5; i++) expect((await phished()).body.code).toBe("invalid_passkey");
    const limited = await phished();
    expect([limited.status, limited.body.code]).toEqual([429, "rate_limited"]);
  });

  it("is renamed, and invisible to other users", async () => {
    const [user, other] = [await signedInAs(cluster, "platform-admin"), await signedInAs(cluster, "platform-admin")];
    const { id } = (await register(user, softAuthenticator(origin()))).body;
    const renamed = await user.api.call("PATCH", `/auth/mfa/passkeys/${id}`, { name: "Phone" });
    expect([renamed.status, renamed.body.name]).toEqual([200, "Phone"]);
    const foreign = await other.api.call("PATCH", `/auth/mfa/passkeys/${id}`, { name: "Mine" });
    expect([foreign.status, foreign.body.code]).toEqual([404, "passkey_not_found"]);
    expect((await other.api.call("GET", "/auth/mfa/passkeys")).body).toEqual({ data: [] });
  });

  it.each([
    ["register/options", {}, "password"],
    ["register/verify", {}, "credential"],
    [
      "register/verify",
      { credential: { id: "x", rawId: "x", type: "public-key", response: {} } },
      "credential.response.clientDataJSON",
    ],
    ["authenticate/verify", { credential: "x" }, "credential"],
    ["authenticate/options", { mfaToken: 1 }, "mfaToken"],
  ])("answers 400 at %s for %j, naming %s", async (path, body, field) => {
    const reply = await passkeys((await signedInAs(cluster, "platform-admin")).api, path, body);
    expect([reply.status, reply.body.code]).toEqual([400, "validation_failed"]);
    expect(Object.keys((reply.body.details as { fieldErrors: object }).fieldErrors)).toEqual([field]);
  });

  it("needs a session, or the token of a sign-in", async () => {
    for (const path of ["register/options", "register/verify", "authenticate/options"]) {
      expect((await passkeys(outsider, path, {})).status).toBe(401);
    }
    const unknown = await passkeys(outsider, "authenticate/options", { mfaToken: "mfa_x" });
    expect([unknown.status, unknown.body.code]).toEqual([401, "invalid_mfa_token"]);
  });
});
