import { randomBytes } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { stateCookies } from "./sso-state.ts";

const key = (id: string) => `${id}:${randomBytes(32).toString("base64")}`;
const options = { path: "/api/v1/sso/callback", secure: true, maxAgeSeconds: 600 };
const cookieOf = (line: string) => line.slice(line.indexOf("=") + 1, line.indexOf(";"));

describe("the state cookie", () => {
  it("matches the state that it was made for, and no other", () => {
    const cookies = stateCookies(key("a"), options);
    const cookie = cookieOf(cookies.set("state-1"));
    expect(cookies.matches(cookie, "state-1")).toBe(true);
    for (const [sent, state] of [
      [cookie, "state-2"],
      ["", "state-1"],
      ["state-1", "state-1"],
      [`${cookie}A`, "state-1"],
      [cookie.slice(0, -1), "state-1"],
      [cookieOf(stateCookies(key("a"), options).set("state-1")), "state-1"],
    ] as const) {
      expect(cookies.matches(sent, state)).toBe(false);
    }
  });

  it("made before the encryption key was rotated still matches", () => {
    const [old, fresh] = [key("old"), key("new")];
    const cookie = cookieOf(stateCookies(old, options).set("state"));
    expect(stateCookies(`${fresh},${old}`, options).matches(cookie, "state")).toBe(true);
    expect(stateCookies(fresh, options).matches(cookie, "state")).toBe(false);
  });

  it("is limited to the callback's path, and Secure where it should be", () => {
    const { set, end } = stateCookies(key("a"), options);
    expect(set("s")).toMatch(/; Max-Age=600; Path=\/api\/v1\/sso\/callback; HttpOnly; SameSite=Lax; Secure$/);
    expect(end).toMatch(/^service_sso_state=; Max-Age=0; Path=\/api\/v1\/sso\/callback;/);
    expect(stateCookies(key("a"), { ...options, secure: false }).set("s")).not.toContain("Secure");
  });
});
