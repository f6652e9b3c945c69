import { randomUUID } from "node:crypto";
import { expect } from "@jest/globals";
import { api } from "../../support/client.ts";
import { verifiedDomain } from "../../support/dns.ts";
import { startIdp } from "../../support/identity-provider.ts";
import { resetTokenOf } from "../../support/mailbox.ts";
import {
  enrollTotp,
  newOrganization,
  newPartner,
  operator,
  roleId,
  signedInAs,
  type TestPerson,
  tokenOf,
} from "../../support/people.ts";
import { startSamlIdp } from "../../support/saml-identity-provider.ts";
import { newProvider, newSamlProvider, upToAnswer } from "../../support/sso-round-trip.ts";
import { enrolledAs, tenantWithAdmins } from "../../support/tenant-with-admins.ts";
import { formIn } from "../../support/visitor.ts";
import { inChromium, type Visitor } from "./visitor.ts";

const password = "a new password for the browser";

async function signIn({ page }: Visitor, person: Pick<TestPerson, "email" | "password">) {
  await page.getByLabel("E-mail").fill(person.email);
  await page.getByLabel("Password").fill(person.password);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
}

async function signOut({ page }: Visitor) {
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByText("You are signed out.").waitFor();
}

const isSignedIn = ({ page }: Visitor) => page.getByRole("button", { name: "Sign out" }).waitFor();

inChromium("signing in to the console", (visit) => {
  visit("a person signs in by keyboard alone, stays signed in over a reload, and signs out", async (visitor) => {
    const { cluster, page, context } = visitor;
    const person = await signedInAs(cluster, "platform-admin");
    await visitor.open("/devices?status=offline", "Sign in");
    expect(new URL(page.url()).searchParams.get("next")).toBe("/devices?status=offline");
    await visitor.expectAccessible();
    await page.getByLabel("E-mail").focus();
    await page.keyboard.type(person.email);
    await page.keyboard.press("Tab");
    await page.keyboard.type(person.password);
    await page.keyboard.press("Enter");
    await isSignedIn(visitor);
    expect(page.url()).toBe(`${visitor.base}/devices?status=offline`);
    const [cookie] = await context.cookies();
    expect(cookie).toMatchObject({ name: "service_session", httpOnly: true, sameSite: "Strict", path: "/" });
    const stored = await page.evaluate("JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])");
    expect(stored).not.toContain(cookie?.value);
    expect(stored).not.toMatch(/eyJ/);
    await page.reload();
    await isSignedIn(visitor);
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByText("You are signed out.").waitFor();
    expect(await context.cookies()).toEqual([]);
    const before = await api(cluster).call("POST", "/auth/refresh", { refreshToken: cookie?.value });
    expect(before.status).toBe(401);
    await visitor.open("/", "Sign in");
  });

  visit("a wrong password is said in one sentence, and too many attempts count down", async (visitor) => {
    const { cluster, page } = visitor;
    const person = await signedInAs(cluster, "platform-admin");
    await visitor.open("/login", "Sign in");
    await signIn(visitor, { email: person.email, password: "wrong" });
    await page.getByText("E-mail or password is wrong.").waitFor();
    const wrong = () => api(cluster).call("POST", "/auth/login", { email: person.email, password: "wrong" });
    for (let attempt = 0; attempt < 10; attempt++) await wrong();
    await signIn(visitor, { email: person.email, password: "wrong" });
    await page.getByText(/Too many attempts. Try again in \d+ (seconds|minutes)/).waitFor();
    await page.getByRole("button", { name: /^Wait \d+ s$/ }).waitFor();
    await visitor.expectAccessible();
  });

  visit("a second factor completes a sign-in: a wrong code is refused, a recovery code works", async (visitor) => {
    const { cluster, page } = visitor;
    const person = await signedInAs(cluster, "platform-admin");
    const { recoveryCodes } = await enrollTotp(person);
    await visitor.open("/login", "Sign in");
    await signIn(visitor, person);
    await page.getByRole("heading", { name: "Second factor" }).waitFor();
    await visitor.expectAccessible();
    await page.getByLabel("Code from your app").fill("000000");
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByText("The code is wrong or was used already.").waitFor();
    await page.getByRole("button", { name: "Use a recovery code" }).click();
    await page.getByLabel("Recovery code").fill(recoveryCodes[0] ?? "");
    await page.getByRole("button", { name: "Continue" }).click();
    await isSignedIn(visitor);
  });

  visit("a passkey that was added in the profile completes the next sign-in", async (visitor) => {
    const { cluster, page, context } = visitor;
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
    const person = await signedInAs(cluster, "platform-admin");
    await visitor.open("/login?next=/profile", "Sign in");
    await signIn(visitor, person);
    await page.getByRole("heading", { level: 1, name: "Profile" }).waitFor();
    await page.getByRole("button", { name: "Add a passkey" }).click();
    await page.getByLabel("Name").fill("Laptop");
    await page.getByLabel("Your password").fill(person.password);
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByRole("button", { name: "I have stored them" }).click();
    await page.getByRole("rowheader", { name: "Laptop" }).waitFor();
    await visitor.expectAccessible();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByText("You are signed out.").waitFor();
    await signIn(visitor, person);
    await page.getByRole("button", { name: "Use a passkey" }).click();
    await isSignedIn(visitor);
  });
});

inChromium("links of mails and identity providers", (visit) => {
  visit("an invited person sets name and password, by a link behind # or the older one", async (visitor) => {
    const { cluster, page } = visitor;
    const root = await operator(cluster);
    for (const mark of ["#", "?"]) {
      const email = `invited-${randomUUID()}@example.com`;
      const wanted = { email, name: "Invited", roleId: await roleId(root, "platform-admin") };
      const { body } = await root.call("POST", "/users", wanted);
      const token = tokenOf(body.inviteUrl);
      await visitor.open(`/accept-invite${mark}token=${token}`, "Accept your invitation");
      expect(page.url()).toBe(`${visitor.base}/accept-invite`);
      // By keyboard alone.
      await page.getByLabel("Your name").focus();
      await page.keyboard.press("Control+a");
      await page.keyboard.type("Ada Lovelace");
      await page.getByLabel("New password").focus();
      await page.keyboard.type(password);
      if (mark === "#") await visitor.expectAccessible();
      await page.keyboard.press("Enter");
      await page.getByText("Your account is ready.").waitFor();
      await signIn(visitor, { email, password });
      await page.getByRole("link", { name: "Ada Lovelace" }).waitFor();
      await page.getByRole("button", { name: "Sign out" }).click();
      await page.getByText("You are signed out.").waitFor();
      await visitor.open(`/accept-invite${mark}token=${token}`, "Accept your invitation");
      await page.getByLabel("New password").fill(password);
      await page.getByRole("button", { name: "Create account" }).click();
      await page.getByText("This link does not work any more").waitFor();
    }
  });

  visit("a forgotten password is replaced by the mail's link", async (visitor) => {
    const { cluster, page } = visitor;
    const person = await signedInAs(cluster, "platform-admin");
    await visitor.open("/login", "Sign in");
    await page.getByRole("link", { name: "Forgot your password?" }).click();
    await page.getByLabel("E-mail").fill(person.email);
    await visitor.expectAccessible();
    await page.getByRole("button", { name: "Send me a link" }).click();
    await page.getByText("a link is on its way").waitFor();
    const token = await resetTokenOf(cluster, person.email);
    await visitor.open(`/reset-password#token=${token}`, "Set a new password");
    await page.getByLabel("New password").fill(password);
    await page.getByRole("button", { name: "Set password" }).click();
    await page.getByText("Your password is set.").waitFor();
    await signIn(visitor, { email: person.email, password });
    await isSignedIn(visitor);
  });

  visit(
    "an organization's identity provider signs a person in, whole, and a planted code signs nobody in",
    async (visitor) => {
      const { cluster, page, context } = visitor;
      const orgId = await newOrganization(cluster, await newPartner(cluster));
      const admin = await enrolledAs(cluster, "org-admin", { orgId });
      const idp = await startIdp(cluster);
      try {
        const provider = await newProvider(admin.api, idp);
        const name = `Person ${randomUUID().slice(0, 8)}`;
        idp.become({ sub: randomUUID(), email: `${randomUUID()}@sso.example`, email_verified: true, name });
        await visitor.open(`/login?org=${orgId}&next=/devices`, "Sign in");
        await page.getByRole("button", { name: `Continue with ${provider.name}` }).click();
        await isSignedIn(visitor);
        await page.getByRole("link", { name }).waitFor();
        expect(page.url()).toBe(`${visitor.base}/devices`);
        await page.getByRole("button", { name: "Sign out" }).click();
        await page.getByText("You are signed out.").waitFor();
        await visitor.open(`/login#ssoCode=${"x".repeat(43)}`, "Sign in");
        await page.getByText("This sign-in was begun in another tab.").waitFor();
        expect([page.url(), await context.cookies()]).toEqual([
          `${visitor.base}/login`,
          expect.not.arrayContaining([expect.objectContaining({ name: "service_session" })]),
        ]);
        await page.getByRole("button", { name: "Sign in through your organization" }).click();
        await page.getByLabel("Work e-mail").fill("ada@unknown.example");
        await page.getByRole("button", { name: "Continue to your identity provider" }).click();
        await page.getByText("No identity provider signs in this domain.").waitFor();
        await visitor.open("/login?error=sso_error&reason=no_org_access", "Sign in");
        await page.getByText("Your account belongs to another organization.").waitFor();
        await visitor.expectAccessible();
      } finally {
        await idp.close();
      }
    },
  );

  visit(
    "an organization's SAML provider signs a person in twice, links an account from the profile, and enforces itself",
    async (visitor) => {
      const { cluster, page, context } = visitor;
      const { orgId, admin } = await tenantWithAdmins(cluster);
      const viewer = await signedInAs(cluster, "org-viewer", { orgId });
      const idp = await startSamlIdp(cluster);
      try {
        const domain = `${randomUUID()}.example`;
        await verifiedDomain(cluster, admin.api, domain);
        const provider = await newSamlProvider(admin.api, idp, { enforceSSO: true });
        const name = `Person ${randomUUID().slice(0, 8)}`;
        const ada = { nameId: `ada@${domain}`, email: `ada@${domain}`, name };
        const enter = async () => {
          await visitor.open(`/login?org=${orgId}&next=/devices`, "Sign in");
          await page.getByRole("button", { name: `Continue with ${provider.name}` }).click();
        };
        idp.become(ada);
        for (let time = 0; time < 2; time++) {
          await enter();
          await isSignedIn(visitor);
          await page.getByRole("link", { name }).waitFor();
          expect(page.url()).toBe(`${visitor.base}/devices`);
          expect(await page.evaluate("document.cookie")).toBe("");
          await signOut(visitor);
        }
        const people = await admin.api.call("GET", `/users?search=ada@${domain}`);
        expect(people.body.data).toHaveLength(1);

        // What another browser was given is worth nothing in this one.
        const { last, visitor: other } = await upToAnswer(cluster, orgId);
        const { action, body } = formIn(last) ?? { action: "", body: "" };
        const headers = { "content-type": "application/x-www-form-urlencoded" };
        const answered = await other.get(action, { method: "POST", body, headers, crossSite: true });
        await page.goto(answered.location ?? "");
        await page.getByText("This sign-in was begun in another browser, or twice. Start again.").waitFor();
        expect(await context.cookies()).not.toContainEqual(expect.objectContaining({ name: "service_session" }));

        idp.become({ nameId: admin.email, email: admin.email, name: "Admin" });
        await visitor.signIn(admin, "/profile", admin.recoveryCodes[0]);
        await page.getByRole("button", { name: `Link ${provider.name}` }).click();
        await page.getByRole("button", { name: `Unlink ${provider.name}` }).waitFor();
        expect(new URL(page.url()).pathname).toBe("/profile");
        await signOut(visitor);
        await enter();
        await isSignedIn(visitor);
        await signOut(visitor);

        await visitor.open(`/login?org=${orgId}`, "Sign in");
        await page.getByText(`Your organization signs in through ${provider.name}.`).waitFor();
        await page.getByRole("button", { name: "Use a password instead" }).click();
        await signIn(visitor, viewer);
        await page.getByText("E-mail or password is wrong.").waitFor();
        await visitor.expectAccessible();
      } finally {
        await idp.close();
      }
    },
  );
});
