import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type BrowserContext, chromium, type Page } from "playwright-core";
import { api } from "../support/client.ts";
import type { Cluster } from "../support/cluster.ts";
import { sharedCluster } from "../support/shared-cluster.ts";
import { signedInAs, type TestUser } from "../support/users.ts";
import { findChromium } from "./chromium.ts";

// A real browser on a page of the gateway's own origin, with an authenticator that Chromium itself plays (CDP,
// WebAuthn).

const found = findChromium();
const isMissing = "missing" in found;
if (isMissing) process.stdout.write(`not run: passkeys in a real browser (${found.missing})\n`);

describe("finding the browser", () => {
  it("is not optional where everything must run (CI)", () => {
    if (isMissing && process.env.CI === "true") throw new Error(found.missing);
  });
});

let cluster: Cluster;
let context: BrowserContext;
let page: Page;
let profile: string;

beforeAll(async () => {
  if (isMissing) return;
  cluster = await sharedCluster();
  profile = await mkdtemp(join(tmpdir(), "muster-browser-"));
  context = await chromium.launchPersistentContext(profile, {
    executablePath: found.path,
    headless: true,
    // Root has no sandbox; and everything the page loads is ours.
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
    timeout: 120_000,
  });
  page = context.pages()[0] ?? (await context.newPage());
  page.setDefaultTimeout(60_000);
  const { port } = new URL(cluster.url);
  // Passkeys are created for the public address, by name.
  await page.goto(`http://localhost:${port}/docs`, { waitUntil: "commit" });
  const devtools = await context.newCDPSession(page);
  await devtools.send("WebAuthn.enable");
  await devtools.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
}, 300_000);

afterAll(async () => {
  await context?.close();
  if (profile) await rm(profile, { recursive: true, force: true });
}, 60_000);

type Answer = { status: number; body: Record<string, unknown> };

/** Runs in the page what the console does: fetches options, passes them to the browser, sends the result. */
function inPage(kind: "register" | "authenticate", token: string | null, body: object, more: object): Promise<Answer> {
  return page.evaluate(
    async ([step, bearer, first, second]) => {
      const call = async (path: string, sent: object) => {
        const headers = {
          "content-type": "application/json",
          ...(bearer ? { authorization: `Bearer ${bearer}` } : {}),
        };
        const reply = await fetch(`/api/v1/auth/mfa/passkeys/${step}/${path}`, {
          method: "POST",
          headers,
          body: JSON.stringify(sent),
        });
        return { status: reply.status, body: (await reply.json()) as Record<string, unknown> };
      };
      const options = await call("options", first);
      if (options.status !== 200) return options;
      // Newer than the DOM types of this TypeScript.
      const web = (globalThis as unknown as { PublicKeyCredential: Record<string, (json: object) => object> })
        .PublicKeyCredential;
      const credentials = (
        globalThis as unknown as {
          navigator: { credentials: Record<string, (o: object) => Promise<{ toJSON(): object }>> };
        }
      ).navigator.credentials;
      const isNew = step === "register";
      const publicKey = isNew
        ? web.parseCreationOptionsFromJSON?.(options.body)
        : web.parseRequestOptionsFromJSON?.(options.body);
      const made = await (isNew ? credentials.create?.({ publicKey }) : credentials.get?.({ publicKey }));
      return call("verify", { ...second, credential: made?.toJSON() });
    },
    [kind, token, body, more] as const,
  );
}

const inBrowser = isMissing ? [] : [[found.path] as const];

describe("a passkey in a real browser", () => {
  for (const [browser] of inBrowser) {
    let user: TestUser;

    it(`is registered on a page of ours, counts as the second factor, and brings recovery codes (${browser})`, async () => {
      user = await signedInAs(cluster, "platform-admin");
      const made = await inPage("register", user.accessToken, { password: user.password }, { name: "Browser" });
      expect(made).toMatchObject({ status: 200, body: { name: "Browser", transports: ["internal"] } });
      expect(made.body.recoveryCodes).toHaveLength(10);
      expect((await user.api.call("GET", "/auth/me")).body.mfaEnabled).toBe(true);
    });

    it("is not made twice by one authenticator", async () => {
      const again = inPage("register", user.accessToken, { password: user.password }, {});
      await expect(again).rejects.toThrow(/InvalidStateError/);
    });

    it("completes a sign-in, and then steps the session up", async () => {
      const { email, password } = user;
      const login = await api(cluster).call("POST", "/auth/login", { email, password });
      expect(login.body.methods).toEqual(["passkey", "recovery_code"]);
      const { mfaToken } = login.body;
      const signedIn = await inPage("authenticate", null, { mfaToken }, { mfaToken });
      expect(signedIn).toMatchObject({ status: 200, body: { user: { email, mfaEnabled: true } } });
      const token = String(signedIn.body.accessToken);
      const stepped = await inPage("authenticate", token, {}, {});
      expect(stepped).toMatchObject({ status: 200, body: { refreshToken: signedIn.body.refreshToken } });
      const { data } = (await api(cluster, token).call("GET", "/auth/mfa/passkeys")).body;
      expect(data).toMatchObject([{ name: "Browser", lastUsedAt: expect.any(String) }]);
    });
  }
});
