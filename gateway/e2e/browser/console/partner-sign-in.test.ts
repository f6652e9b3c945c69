import { randomUUID } from "node:crypto";
import { expect } from "@jest/globals";
import { until } from "@muster/testing";
import { api } from "../../support/client.ts";
import { ownCluster } from "../../support/cluster.ts";
import { verifiedDomain } from "../../support/dns.ts";
import { enroller } from "../../support/enroller.ts";
import { linkThrough, newSamlProvider } from "../../support/login-flow.ts";
import { resetMailsTo, resetTokenOf } from "../../support/mailbox.ts";
import { startSamlIdp } from "../../support/saml-identity-provider.ts";
import { tenantWithAdmins } from "../../support/tenant-with-admins.ts";
import { signedInAs } from "../../support/users.ts";
import { inChromium, type Visitor } from "./visitor.ts";

/** One red pixel. */
const logo =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

const isSignedIn = ({ page }: Visitor) => page.getByRole("button", { name: "Sign out" }).waitFor();
async function signOut({ page }: Visitor) {
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByText("You are signed out.").waitFor();
}

inChromium(
  "signing in where a deployment has one partner",
  (visit) => {
    visit("shows its branding and its button, enforces it, and leaves the platform's way in", async (visitor) => {
      const { cluster, page } = visitor;
      const { orgId, partnerId, partnerAdmin } = await tenantWithAdmins(cluster);
      const by = partnerAdmin.api;
      const technician = await signedInAs(cluster, "partner-technician", { partnerId, orgAccess: "all" });
      const root = await signedInAs(cluster, "platform-admin");
      const customer = await signedInAs(cluster, "org-viewer", { orgId });
      const signInAs = async ({ email, password }: { email: string; password: string }) => {
        await page.getByLabel("E-mail").fill(email);
        await page.getByLabel("Password").fill(password);
        await page.getByRole("button", { name: "Sign in", exact: true }).click();
      };

      const branding = { logo_url: logo, accent_color: "#0a7c66", headline: "Welcome to Northwind IT" };
      expect((await by.call("PUT", "/partners/me/login-branding", branding)).status).toBe(200);
      await visitor.open("/login", "Sign in");
      await page.getByText(branding.headline).waitFor();
      expect(await page.locator("header img").getAttribute("src")).toBe(logo);
      const shownWidth = () =>
        page.locator("header img").evaluate((image) => (image as unknown as { naturalWidth: number }).naturalWidth);
      await until("the logo to be shown", async () => (await shownWidth()) === 1);
      expect(await page.evaluate("document.documentElement.style.getPropertyValue('--brand')")).toBe("#0a7c66");
      await visitor.expectAccessible();

      const idp = await startSamlIdp(cluster);
      try {
        const domain = `${randomUUID()}.example`;
        await verifiedDomain(cluster, by, domain, { ownerScope: "partner" });
        const provider = await newSamlProvider(by, idp, {
          name: "Northwind ID",
          ownerScope: "partner",
          enforceSSO: true,
        });
        // No user of that name was invited: a partner's provider creates no accounts.
        idp.become({ nameId: `nobody@${domain}`, email: `nobody@${domain}`, name: "Nobody" });
        const enter = () => page.getByRole("button", { name: "Continue with Northwind ID" }).click();
        await page.reload();
        await enter();
        await page.getByText("You have no account here yet. Ask your administrator for an invitation.").waitFor();
        // The provider is not proven yet: the form still asks for passwords.
        await page.getByLabel("Password").waitFor();

        idp.become({ nameId: partnerAdmin.email, email: partnerAdmin.email, name: "Grace" });
        expect((await linkThrough(cluster, by, provider.id)).location).toMatch(/ssoLinked=1$/);
        await enter();
        await isSignedIn(visitor);
        await signOut(visitor);

        // Proven by an administrator: from now on it is enforced.
        await visitor.open("/login", "Sign in");
        await page.getByText("Your organization signs in through Northwind ID.").waitFor();
        expect(await page.getByLabel("Password").count()).toBe(0);
        await visitor.expectAccessible();
        await page.getByRole("button", { name: "Use a password instead" }).click();
        await signInAs(technician);
        await page.getByText("E-mail or password is wrong.").waitFor();
        await page.getByRole("link", { name: "Forgot your password?" }).click();
        for (const { email } of [technician, customer]) {
          const sent = await api(cluster).call("POST", "/auth/forgot-password", { email });
          expect(sent.body).toEqual({ success: true });
        }
        await page.getByLabel("E-mail").fill(technician.email);
        await page.getByRole("button", { name: "Send me a link" }).click();
        await page.getByText("a link is on its way").waitFor();
        // Mails leave in order: the customer's is there, so the technician's would be.
        await resetTokenOf(cluster, customer.email);
        expect(await resetMailsTo(cluster, technician.email)).toBe(0);

        // Platform users, and customers outside the partner's provider, sign in as before.
        for (const user of [root, customer]) {
          await visitor.open("/login", "Sign in");
          await page.getByRole("button", { name: "Use a password instead" }).click();
          await signInAs(user);
          await isSignedIn(visitor);
          await signOut(visitor);
        }
        await visitor.open("/login", "Sign in");
        await page.getByRole("button", { name: "Sign in through your organization" }).click();
        await page.getByLabel("Work e-mail").fill(`ada@${domain}`);
        idp.become({ nameId: partnerAdmin.email, email: partnerAdmin.email, name: "Grace" });
        await page.getByRole("button", { name: "Continue to your identity provider" }).click();
        await isSignedIn(visitor);
        await signOut(visitor);
      } finally {
        await idp.close();
      }

      await tenantWithAdmins(cluster);
      const context = { branding: null, partnerSso: null };
      await until("the second partner to reach identity", async () => {
        const { body } = await api(cluster).call("GET", "/auth/login-context");
        return JSON.stringify(body) === JSON.stringify(context);
      });
      await visitor.open("/login", "Sign in");
      await page.getByLabel("Password").waitFor();
      expect([await page.getByText(branding.headline).count(), await page.locator("header img").count()]).toEqual([
        0, 0,
      ]);
    });

    visit(
      "a gateway that is killed signs no user out: the page reports it, keeps its rows and continues",
      async (visitor) => {
        const { cluster, page, base, context } = visitor;
        const { orgId } = await tenantWithAdmins(cluster);
        const viewer = await signedInAs(cluster, "org-viewer", { orgId });
        await (await enroller(cluster))(orgId, { hostname: "still-here" });
        await visitor.signIn(viewer, "/devices");
        const row = page.getByRole("link", { name: "still-here" });
        await row.waitFor();
        visitor.losingTheGateway();
        const gatewayOf = async () => (await cluster.stack()).gateways[0]?.pid ?? null;
        const killed = await gatewayOf();
        if (killed === null) throw new Error("the cluster has no gateway");
        process.kill(killed, "SIGKILL");
        await page.getByRole("button", { name: /^As of/ }).click();
        // Either the gateway is still down, or the next one already serves.
        await page.getByRole("alert").or(row).first().waitFor();
        expect(await row.count()).toBe(1);
        await until(
          "the next gateway",
          async () => {
            const isNext = ![killed, null].includes(await gatewayOf());
            const health = isNext ? await fetch(`${cluster.url}/health`).catch(() => null) : null;
            return health !== null && ((await health.json()) as { status: string }).status === "ok";
          },
          60_000,
        );
        await page.reload();
        await isSignedIn(visitor);
        await row.waitFor();
        const tab = await context.newPage();
        await tab.goto(`${base}/profile`);
        await tab.getByRole("heading", { level: 1, name: "Profile" }).waitFor();
        expect(await page.getByRole("dialog").count()).toBe(0);
      },
    );
  },
  { start: () => ownCluster() },
);
