import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { sql } from "@muster/db";
import type { Caller } from "@muster/kit";
import { callers, softAuthenticator, type Twist } from "@muster/testing";
import { Secret, TOTP } from "otpauth";
import { codeOf, startTestIdentity, type TestIdentity } from "../testing/identity.ts";
import { activeUser, callerOf, password, signedIn, type User } from "../testing/users.ts";

let identity: TestIdentity;
beforeAll(async () => {
  identity = await startTestIdentity({ perAddress: { max: 1_000, windowMs: 300_000 } });
});
afterAll(() => identity?.close());

const pass = (ms: number) => {
  identity.clock.now = new Date(identity.clock.now.getTime() + ms);
};
const gateway = () => identity.passkeysAs(callers.service("gateway"));
const optionsOf = ({ optionsJson }: { optionsJson: string }) => JSON.parse(optionsJson) as Record<string, unknown>;

/** A user with one passkey, whose session has completed it. */
async function withPasskey() {
  const who = await activeUser(identity);
  const { caller } = await signedIn(identity, who);
  const device = softAuthenticator(identity.publicUrl);
  const { passkey, recoveryCodes } = await register(caller, device);
  return { who, device, passkey, recoveryCodes, caller: callerOf(who, caller.sessionId ?? "", identity.clock.now) };
}

async function register(caller: Caller, device = softAuthenticator(identity.publicUrl), twist: Twist = {}) {
  const api = identity.passkeysAs(caller);
  const made = device.create(optionsOf(await api.beginRegistration({ password })), twist);
  return api.finishRegistration({ credentialJson: JSON.stringify(made), name: "" });
}

async function mfaToken({ email }: User) {
  return (await identity.anonymous().login({ email, password })).mfaToken;
}

async function use(token: string, device: ReturnType<typeof softAuthenticator>, twist: Twist = {}) {
  const signed = device.get(optionsOf(await gateway().beginAuthentication({ mfaToken: token })), twist);
  return gateway().finishAuthentication({ mfaToken: token, credentialJson: JSON.stringify(signed) });
}

describe("a passkey", () => {
  it("is registered with the password, counts as the first factor, and returns recovery codes once", async () => {
    const who = await activeUser(identity);
    const { caller } = await signedIn(identity, who);
    const api = identity.passkeysAs(caller);
    expect(await codeOf(api.beginRegistration({ password: "not it" }))).toBe("invalid_credentials");
    const options = optionsOf(await api.beginRegistration({ password }));
    expect(options).toMatchObject({
      rp: { id: "muster.example.test", name: "Muster" },
      user: { name: who.email },
      attestation: "none",
      authenticatorSelection: { userVerification: "required" },
    });
    const made = softAuthenticator(identity.publicUrl).create(options);
    const first = await api.finishRegistration({ credentialJson: JSON.stringify(made), name: " Laptop " });
    expect(first.passkey).toMatchObject({ name: "Laptop", transports: ["internal"], backedUp: false });
    expect(first.recoveryCodes).toHaveLength(10);
    const login = await identity.anonymous().login({ email: who.email, password });
    expect(login.methods).toEqual(["passkey", "recovery_code"]);
    expect((await register(callerOf(who, caller.sessionId ?? "", identity.clock.now))).recoveryCodes).toEqual([]);
    expect((await api.listPasskeys({})).passkeys).toHaveLength(2);
    const actions = (await identity.auditOf(who.userId)).map(({ action }) => action).slice(4);
    expect(actions).toEqual(["user.passkey.create", "user.mfa.enable", "user.passkey.create"]);
  });

  it("completes a sign-in and steps a session up", async () => {
    const { who, device } = await withPasskey();
    const token = await mfaToken(who);
    const { principal, tokens } = await use(token, device);
    expect([principal?.userId, principal?.mfaAt !== undefined]).toEqual([who.userId, true]);
    expect(tokens?.refreshToken).toMatch(/^rt_/);
    expect(await codeOf(use(token, device))).toBe("invalid_mfa_token");
    const caller = callerOf(who, principal?.sessionId ?? "");
    const api = identity.passkeysAs(caller);
    const signed = device.get(optionsOf(await api.beginAuthentication({ mfaToken: "" })));
    const stepped = await api.finishAuthentication({ mfaToken: "", credentialJson: JSON.stringify(signed) });
    expect(stepped.tokens?.refreshToken).toBe(tokens?.refreshToken);
  });

  const foreign = softAuthenticator("https://muster.example.test");
  const wrong: [string, Twist][] = [
    ["of another origin", { origin: "https://evil.example" }],
    ["of another domain", { rpId: "evil.example" }],
    ["without user verification", { userVerified: false }],
    ["over another challenge", { challenge: Buffer.alloc(32, 1).toString("base64url") }],
    ["whose counter does not grow", { counterStep: 0 }],
    ["that is a registration", { type: "webauthn.create" }],
  ];
  it.each(wrong)("%s is refused, and its challenge is consumed", async (_what, twist) => {
    const { who, device } = await withPasskey();
    await use(await mfaToken(who), device);
    const token = await mfaToken(who);
    const options = optionsOf(await gateway().beginAuthentication({ mfaToken: token }));
    const finish = (signed: object) =>
      gateway().finishAuthentication({ mfaToken: token, credentialJson: JSON.stringify(signed) });
    expect(await codeOf(finish(device.get(options, twist)))).toBe("invalid_passkey");
    if (twist.challenge === undefined) expect(await codeOf(finish(device.get(options)))).toBe("invalid_passkey");
    expect((await use(token, device)).principal?.userId).toBe(who.userId);
  });

  it.each(wrong.filter(([, { counterStep, type }]) => counterStep === undefined && type === undefined))(
    "%s is not registered",
    async (_what, twist) => {
      const { caller } = await signedIn(identity, await activeUser(identity));
      expect(await codeOf(register(caller, softAuthenticator(identity.publicUrl), twist))).toBe("invalid_passkey");
      expect((await identity.passkeysAs(caller).listPasskeys({})).passkeys).toEqual([]);
    },
  );

  it.each(["{", "null", "[]", '{"response":{"clientDataJSON":"e30"}}', '{"response":{"clientDataJSON":1}}'])(
    "that is no credential at all (%s) is refused like any other",
    async (credentialJson) => {
      const { who, caller } = await withPasskey();
      const token = await mfaToken(who);
      expect(await codeOf(gateway().finishAuthentication({ mfaToken: token, credentialJson }))).toBe("invalid_passkey");
      const mine = identity.passkeysAs(caller);
      expect(await codeOf(mine.finishRegistration({ credentialJson, name: "" }))).toBe("invalid_passkey");
    },
  );

  it("answers a challenge once, also when the answer is sent twenty times at once", async () => {
    const { who, device } = await withPasskey();
    const token = await mfaToken(who);
    const signed = JSON.stringify(device.get(optionsOf(await gateway().beginAuthentication({ mfaToken: token }))));
    const answers = await Promise.all(
      Array.from({ length: 20 }, () =>
        codeOf(gateway().finishAuthentication({ mfaToken: token, credentialJson: signed })),
      ),
    );
    expect(answers.filter((answer) => answer === "answered")).toHaveLength(1);
  });

  it("answers no challenge that has expired, or that was issued for another user or purpose", async () => {
    const { who, device, caller } = await withPasskey();
    const token = await mfaToken(who);
    const options = optionsOf(await gateway().beginAuthentication({ mfaToken: token }));
    const inSession = identity.passkeysAs(caller);
    const elsewhere = JSON.stringify(device.get(options));
    expect(await codeOf(inSession.finishAuthentication({ mfaToken: "", credentialJson: elsewhere }))).toBe(
      "invalid_passkey",
    );
    const mine = await inSession.beginAuthentication({ mfaToken: "" });
    pass(301_000);
    const late = JSON.stringify(device.get(optionsOf(mine)));
    expect(await codeOf(inSession.finishAuthentication({ mfaToken: "", credentialJson: late }))).toBe(
      "invalid_passkey",
    );
    expect(() => foreign.get(options)).toThrow("NotAllowedError");
  });

  it("guesses count towards the limit of second factors", async () => {
    const { who, device } = await withPasskey();
    const token = await mfaToken(who);
    for (let i = 0; i < 5; i++) {
      expect(await codeOf(use(token, device, { origin: "https://evil.example" }))).toBe("invalid_passkey");
    }
    expect(await codeOf(use(token, device))).toBe("rate_limited");
    pass(301_000);
  });

  it("is listed, renamed and removed by its user only; with the last factor the second factor ends", async () => {
    const { who, caller, passkey } = await withPasskey();
    const id = passkey?.id ?? "";
    const mine = identity.passkeysAs(caller);
    const ofOtherUser = identity.passkeysAs((await withPasskey()).caller);
    for (const call of [ofOtherUser.renamePasskey({ id, name: "x" }), ofOtherUser.deletePasskey({ id })]) {
      expect(await codeOf(call)).toBe("passkey_not_found");
    }
    expect((await mine.renamePasskey({ id, name: "Phone" })).passkey?.name).toBe("Phone");
    expect(await codeOf(mine.renamePasskey({ id, name: " " }))).toBe("validation_failed");
    const unproven = identity.passkeysAs(callerOf(who, caller.sessionId ?? ""));
    expect(await codeOf(unproven.deletePasskey({ id }))).toBe("mfa_required");
    await mine.deletePasskey({ id });
    expect(await codeOf(mine.deletePasskey({ id }))).toBe("passkey_not_found");
    expect((await identity.anonymous().login({ email: who.email, password })).mfaToken).toBe("");
    const actions = (await identity.auditOf(who.userId)).map(({ action }) => action);
    expect(actions.slice(-4)).toEqual(["user.passkey.update", "user.passkey.delete", "user.mfa.disable", "user.login"]);
  });

  it("and TOTP coexist: each requires the other to be added, and is removed separately", async () => {
    const { who, caller, device } = await withPasskey();
    const unproven = callerOf(who, caller.sessionId ?? "");
    expect(await codeOf(identity.mfaAs(unproven).setupTotp({ password }))).toBe("mfa_required");
    expect(await codeOf(identity.passkeysAs(unproven).beginRegistration({ password }))).toBe("mfa_required");
    const { secret } = await identity.mfaAs(caller).setupTotp({ password });
    const code = () =>
      new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: identity.clock.now.getTime() });
    expect((await identity.mfaAs(caller).enableTotp({ code: code() })).recoveryCodes).toEqual([]);
    const { methods } = await identity.anonymous().login({ email: who.email, password });
    expect(methods).toEqual(["totp", "passkey", "recovery_code"]);
    pass(60_000);
    await identity.mfaAs(caller).disableTotp({ password, code: code() });
    const after = await identity.anonymous().login({ email: who.email, password });
    expect(after.methods).toEqual(["passkey", "recovery_code"]);
    expect((await use(after.mfaToken, device)).principal?.mfaEnabled).toBe(true);
  });

  it("cannot be registered for a second user, and twenty are the maximum", async () => {
    const one = await withPasskey();
    const options = optionsOf(await identity.passkeysAs(one.caller).beginRegistration({ password }));
    expect(options.excludeCredentials).toHaveLength(1);
    await identity.db.tx({ caller: one.caller }, (tx) =>
      tx.execute(sql`
        INSERT INTO passkeys SELECT gen_random_uuid(), user_id, convert_to(n::text, 'UTF8') || credential_id, public_key, 0,
          '{}', aaguid, false, false, 'more', now() FROM passkeys, generate_series(1, 19) AS n WHERE user_id = ${one.who.userId}`),
    );
    expect(await codeOf(identity.passkeysAs(one.caller).beginRegistration({ password }))).toBe("limit_reached");
  });
});
