import { randomUUID } from "node:crypto";
import { expect } from "@jest/globals";
import { receiverHost } from "../../support/cluster.ts";
import { verifiedDomain } from "../../support/dns.ts";
import { type Account, newAccount, startIdp } from "../../support/identity-provider.ts";
import { linkThrough, newProvider, newSamlProvider, upToAnswer } from "../../support/login-flow.ts";
import { startSamlIdp } from "../../support/saml-identity-provider.ts";
import { enrolledAs, tenantWithAdmins } from "../../support/tenant-with-admins.ts";
import { newOrganization, newPartner, signedInAs } from "../../support/users.ts";
import { formIn } from "../../support/visitor.ts";
import { inChromium, type Visitor } from "./visitor.ts";

const isSignedIn = ({ page }: Visitor) => page.getByRole("button", { name: "Sign out" }).waitFor();

async function signOut({ page }: Visitor) {
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByText("You are signed out.").waitFor();
}

inChromium("signing in through an identity provider", (visit) => {
  visit(
    "an organization's identity provider signs a user in to the requested page, and a planted code signs no user in",
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
        await page.getByText("This sign-in was started in another tab.").waitFor();
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
    "going back, at the identity provider or once signed in, leads to no dead end and to no code",
    async (visitor) => {
      const { cluster, page } = visitor;
      const orgId = await newOrganization(cluster, await newPartner(cluster));
      const admin = await enrolledAs(cluster, "org-admin", { orgId });
      const idp = await startIdp(cluster);
      try {
        const provider = await newProvider(admin.api, idp);
        idp.become(newAccount());
        idp.ask();
        const enter = () => page.getByRole("button", { name: `Continue with ${provider.name}` }).click();
        const atProvider = () => page.getByRole("heading", { name: "Identity provider" }).waitFor();
        await visitor.open(`/login?org=${orgId}&next=/devices`, "Sign in");
        await enter();
        await atProvider();
        await page.goBack();
        await enter();
        await atProvider();
        await page.getByRole("button", { name: "Let me in" }).click();
        await isSignedIn(visitor);
        expect(page.url()).toBe(`${visitor.base}/devices`);
        // Neither the way out nor the way back is in the history: the step before is the provider's.
        await page.goBack();
        await atProvider();
        await page.goForward();
        await isSignedIn(visitor);
        await page.goBack();
        await atProvider();
        await page.goBack();
        await enter();
        await isSignedIn(visitor);
        expect(page.url()).toBe(`${visitor.base}/devices`);
      } finally {
        await idp.close();
      }
    },
  );

  visit(
    "a partner's identity provider signs its own people in twice, by their domain, and creates no account",
    async (visitor) => {
      const { cluster, page, context } = visitor;
      const { partnerId, partnerAdmin } = await tenantWithAdmins(cluster);
      const by = partnerAdmin.api;
      const technician = await signedInAs(cluster, "partner-technician", { partnerId, orgAccess: "all" });
      const idp = await startIdp(cluster);
      try {
        const domain = `${randomUUID()}.example`;
        await verifiedDomain(cluster, by, domain, { ownerScope: "partner" });
        const provider = await newProvider(by, idp, { ownerScope: "partner", defaultRoleId: undefined });
        /** Begins a sign-in as a user who has no session at the provider in this browser. */
        const enterAs = async (account: Account) => {
          idp.become(account);
          await context.clearCookies({ domain: receiverHost });
          await visitor.open("/login", "Sign in");
          await page.getByRole("button", { name: "Sign in through your organization" }).click();
          await page.getByLabel("Work e-mail").fill(`ada@${domain}`);
          await page.getByRole("button", { name: "Continue to your identity provider" }).click();
        };
        await enterAs(newAccount());
        await page.getByText("You have no account here yet. Ask your administrator for an invitation.").waitFor();
        await enterAs(newAccount({ email: technician.email }));
        await page.getByText("Sign in with your password and link the provider in your profile.").waitFor();
        const admin = newAccount({ email: partnerAdmin.email });
        idp.become(admin);
        expect((await linkThrough(cluster, by, provider.id)).location).toMatch(/ssoLinked=1$/);
        for (let time = 0; time < 2; time++) {
          await enterAs(admin);
          await isSignedIn(visitor);
          await signOut(visitor);
        }
        // A code that another browser received is refused in this one.
        const { callback } = await upToAnswer(cluster, `partner/${partnerId}`);
        await page.goto(callback);
        await page.getByText("This sign-in was started in another browser, or twice. Start again.").waitFor();
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
        const users = await admin.api.call("GET", `/users?search=ada@${domain}`);
        expect(users.body.data).toHaveLength(1);

        // A code that another browser received is refused in this one.
        const { last, visitor: other } = await upToAnswer(cluster, orgId);
        const { action, body } = formIn(last) ?? { action: "", body: "" };
        const headers = { "content-type": "application/x-www-form-urlencoded" };
        const answered = await other.get(action, { method: "POST", body, headers, crossSite: true });
        await page.goto(answered.location ?? "");
        await page.getByText("This sign-in was started in another browser, or twice. Start again.").waitFor();
        expect(await context.cookies()).not.toContainEqual(expect.objectContaining({ name: "service_session" }));

        idp.become({ nameId: admin.email, email: admin.email, name: "Admin" });
        await visitor.signIn(admin, "/profile", admin.recoveryCodes[0]);
        await page.getByRole("button", { name: `Link ${provider.name}` }).click();
        await page.getByRole("button", { name: `Unlink … ${provider.name}` }).waitFor();
        expect(new URL(page.url()).pathname).toBe("/profile");
        await signOut(visitor);
        await enter();
        await isSignedIn(visitor);
        await signOut(visitor);

        await visitor.open(`/login?org=${orgId}`, "Sign in");
        await page.getByText(`Your organization signs in through ${provider.name}.`).waitFor();
        await page.getByRole("button", { name: "Use a password instead" }).click();
        await page.getByLabel("E-mail").fill(viewer.email);
        await page.getByLabel("Password").fill(viewer.password);
        await page.getByRole("button", { name: "Sign in", exact: true }).click();
        await page.getByText("E-mail or password is wrong.").waitFor();
        await visitor.expectAccessible();
      } finally {
        await idp.close();
      }
    },
  );
});
