import { randomInt } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { sql } from "@muster/db";
import { createLogger, uuidv7 } from "@muster/kit";
import { passwords } from "../crypto/passwords.ts";
import { bootstrapAdministrator } from "../jobs/bootstrap.ts";
import { removeOldFailures } from "../store/failures.ts";
import { codeOf, outcomeOf, startTestIdentity, type TestIdentity } from "../testing/identity.ts";

const email = "ada@example.com";
const password = "a long enough password";
let identity: TestIdentity;
let home: string;

beforeAll(async () => {
  identity = await startTestIdentity();
  const { db, clock } = identity;
  const hashing = passwords({ logN: 10, queueMax: 200 });
  const log = createLogger("identity-test", "error");
  await bootstrapAdministrator({ db, passwords: hashing, log, now: () => clock.now }, { email, password });
});
afterAll(() => identity?.close());
// Each test uses its own client address.
beforeEach(() => {
  home = someAddress();
});

const someAddress = () => `10.${randomInt(256)}.${randomInt(256)}.${randomInt(256)}`;
const attempt = (change: { email?: string; password?: string; address?: string } = {}) =>
  identity
    .anonymous(change.address ?? home)
    .login({ email: change.email ?? email, password: change.password ?? "wrong" });
const fail = async (times: number, change: Parameters<typeof attempt>[0] = {}) => {
  for (let i = 0; i < times; i++) expect(await codeOf(attempt(change))).toBe("invalid_credentials");
};
const move = (ms: number) => {
  identity.clock.now = new Date(identity.clock.now.getTime() + ms);
};

describe("failed sign-ins", () => {
  it.each([
    ["of an account", () => email],
    ["of an account that does not exist", () => `${uuidv7()}@example.com`],
  ])("%s are answered exactly ten times, however many arrive together", async (_name, account) => {
    const guessed = account();
    const codes = await Promise.all(Array.from({ length: 50 }, () => codeOf(attempt({ email: guessed }))));
    expect(codes.filter((code) => code === "invalid_credentials")).toHaveLength(10);
    expect(codes.filter((code) => code === "rate_limited")).toHaveLength(40);
  });

  it("block even the right password, and only from their own address", async () => {
    await fail(10);
    expect(await outcomeOf(attempt({ password }))).toEqual({ code: "rate_limited", retryAfterSeconds: 300 });
    expect(await codeOf(attempt({ password, address: someAddress() }))).toBe("answered");
    expect(await codeOf(attempt({ password }))).toBe("rate_limited");
  });

  it("do not affect other accounts from that address, up to its own limit", async () => {
    await fail(10, { email: "somebody@example.com" });
    expect(await codeOf(attempt({ password }))).toBe("answered");
    for (let i = 0; i < 9; i++) await fail(10, { email: `${i}@example.com` });
    expect(await codeOf(attempt({ password }))).toBe("rate_limited");
    expect(await codeOf(attempt({ email: "nobody-yet@example.com" }))).toBe("rate_limited");
  });

  it("no longer count five minutes after each of them", async () => {
    await fail(9);
    move(60_000);
    await fail(1);
    expect(await outcomeOf(attempt())).toEqual({ code: "rate_limited", retryAfterSeconds: 240 });
    move(239_999);
    expect(await codeOf(attempt())).toBe("rate_limited");
    move(1);
    await fail(9);
    expect(await codeOf(attempt())).toBe("rate_limited");
  });

  it("are cleared by a successful sign-in, for that account only", async () => {
    await fail(9);
    await fail(9, { email: "other@example.com" });
    expect(await codeOf(attempt({ password }))).toBe("answered");
    await fail(10);
    expect(await codeOf(attempt())).toBe("rate_limited");
    await fail(1, { email: "other@example.com" });
    expect(await codeOf(attempt({ email: "other@example.com" }))).toBe("rate_limited");
  });

  it("do not include successes", async () => {
    const codes = await Promise.all(Array.from({ length: 15 }, () => codeOf(attempt({ password }))));
    expect(new Set(codes)).toEqual(new Set(["answered"]));
  });

  it("count every spelling of an e-mail as one, and a /64 as one address", async () => {
    await fail(5, { email: email.toUpperCase(), address: "2001:db8:7:1::1" });
    await fail(5, { address: "2001:db8:7:1:ffff::2" });
    expect(await codeOf(attempt({ email: "Ada@Example.com", address: "2001:DB8:7:1::3" }))).toBe("rate_limited");
    expect(await codeOf(attempt({ password, address: "2001:db8:7:2::1" }))).toBe("answered");
  });

  it("are stored without e-mails, and removed when they no longer count", async () => {
    const rows = () =>
      identity.db.read<{ text: string }>(identity.system, sql`SELECT f::text AS text FROM failed_attempts f`);
    await fail(1);
    expect((await rows()).filter(({ text }) => text.includes("example.com"))).toEqual([]);
    move(300_001);
    await removeOldFailures(identity.db, 1_000, identity.clock.now);
    expect(await rows()).toEqual([]);
  });
});
