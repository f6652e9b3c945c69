import { randomUUID } from "node:crypto";
import { expect } from "@jest/globals";
import { until } from "@muster/testing";
import { api } from "../../support/client.ts";
import { enroller } from "../../support/enroller.ts";
import { startIdp } from "../../support/identity-provider.ts";
import { startReceiver } from "../../support/receiver.ts";
import { enrolledAs, tenantWithAdmins } from "../../support/tenant-with-admins.ts";
import { newOrganization, newPartner, newSite, signedInAs } from "../../support/users.ts";
import { inChromium, type Visitor } from "./visitor.ts";

/** Presses a button of the page, fills the dialog that it opens, and sends it. */
async function inDialog(
  { page }: Visitor,
  { open, send }: { open: string; send: string },
  fill: (dialog: ReturnType<Visitor["page"]["getByRole"]>) => Promise<void>,
) {
  await page.getByRole("button", { name: open }).first().click();
  const dialog = page.getByRole("dialog");
  await fill(dialog);
  await dialog.getByRole("button", { name: send, exact: true }).click();
  await dialog.waitFor({ state: "detached" }).catch(async (cause: unknown) => {
    throw new Error(`${open} was not done: ${await dialog.textContent()}`, { cause });
  });
}

inChromium("the console's pages of tenants and users", (visit) => {
  visit("make, change and delete a partner, an organization and a site", async (visitor) => {
    const { cluster, page } = visitor;
    const user = await signedInAs(cluster, "platform-admin");
    const name = `Partner ${randomUUID()}`;
    await visitor.signIn(user, "/partners");
    await inDialog(visitor, { open: "New partner", send: "Create" }, (dialog) => dialog.getByLabel("Name").fill(name));
    await visitor.open("/partners", "Partners");
    // What it shows is on the page of each organization.
    expect(await page.getByRole("link", { name: "Organization", exact: true }).count()).toBe(0);
    await page.getByRole("button", { name: "New partner" }).first().click();
    await page.getByRole("dialog").getByLabel("Name").fill(name);
    await page.getByRole("dialog").getByRole("button", { name: "Create" }).click();
    // The slug is taken: the dialog shows the error and keeps the input.
    await page.getByRole("dialog").getByRole("alert").waitFor();
    await visitor.expectAccessible();
    await page.keyboard.press("Escape");
    const partnerId = await newPartner(cluster);
    const orgId = await newOrganization(cluster, partnerId);
    await visitor.open(`/partners/${partnerId}`, /./);
    await inDialog(visitor, { open: "Change …", send: "Save" }, async (dialog) => {
      await dialog.getByLabel("Devices at most").fill("1200");
      await dialog.getByLabel("Plan").selectOption("pro");
      await visitor.expectAccessible();
    });
    await page.getByText("1,200").waitFor();
    await visitor.open(`/orgs/${orgId}?orgId=${orgId}`, /./);
    await inDialog(visitor, { open: "Change …", send: "Save" }, async (dialog) => {
      await dialog.getByLabel("Name").fill("Acme");
      await dialog.getByLabel("Status").selectOption("trial");
    });
    await page.getByRole("heading", { level: 1, name: /Acme/ }).waitFor();
    await visitor.expectAccessible();
    await page.getByRole("link", { name: "All sites" }).click();
    await page.getByText("No site yet.").waitFor();
    await inDialog(visitor, { open: "New site", send: "Create" }, async (dialog) => {
      await dialog.getByLabel("Name").fill("Lisbon");
      await dialog.getByLabel("Time zone").fill("Europe/Lisbon");
    });
    await page.getByRole("link", { name: "Lisbon" }).click();
    await page.getByRole("heading", { level: 1, name: "Lisbon" }).waitFor();
    await inDialog(visitor, { open: "Labels …", send: "Save" }, (dialog) =>
      dialog.getByLabel("Labels").fill("region=eu\ntier=1"),
    );
    await page.getByText("tier=1").waitFor();
    await visitor.expectAccessible();
    await page.getByRole("button", { name: "More for Lisbon" }).click();
    await page.getByRole("menuitem", { name: "Delete …" }).click();
    const question = page.getByRole("dialog");
    await question.getByText("No device is there.").waitFor();
    expect(await question.getByRole("button", { name: "Delete", exact: true }).isDisabled()).toBe(true);
    await question.getByRole("textbox").fill("Lisbon");
    await question.getByRole("button", { name: "Delete", exact: true }).click();
    await page.getByRole("heading", { level: 1, name: "Sites" }).waitFor();
    await page.getByText("No site yet.").waitFor();
    await visitor.open(`/groups?orgId=${orgId}`, "Device groups");
    await inDialog(visitor, { open: "New group", send: "Create" }, (dialog) =>
      dialog.getByLabel("Name").fill("Canaries"),
    );
    await page.getByRole("link", { name: "Canaries" }).waitFor();
    await visitor.expectAccessible();
  });

  visit("invite a colleague for two of a partner's organizations", async (visitor) => {
    const { cluster, page } = visitor;
    const partnerId = await newPartner(cluster);
    const orgIds = [await newOrganization(cluster, partnerId), await newOrganization(cluster, partnerId)];
    const closed = await newOrganization(cluster, partnerId);
    const admin = await enrolledAs(cluster, "partner-admin", { partnerId, orgAccess: "all" });
    const email = `${randomUUID()}@example.com`;
    await visitor.signIn(admin, "/people", admin.recoveryCodes[0]);
    await page.getByRole("button", { name: "Invite a person" }).first().click();
    const dialog = page.getByRole("dialog", { name: "Invite a person" });
    await dialog.getByLabel("E-mail").fill(email);
    await dialog.getByLabel("Name").fill("Grace Hopper");
    await dialog.getByLabel("Role").selectOption({ index: 0 });
    await dialog.getByLabel("Organization access").selectOption("selected");
    for (const id of orgIds) await dialog.locator(`input[value="${id}"]`).check();
    await visitor.expectAccessible();
    await dialog.getByRole("button", { name: "Invite", exact: true }).click();
    await page.getByRole("dialog", { name: "Invited" }).getByRole("button", { name: "Close" }).click();
    const { body } = await admin.api.call("GET", `/users?search=${email}`);
    const [invited] = body.data as { orgAccess: string; orgIds: string[] }[];
    expect([invited?.orgAccess, invited?.orgIds.toSorted()]).toEqual(["selected", orgIds.toSorted()]);
    expect(invited?.orgIds).not.toContain(closed);
  });

  visit("show where a person signed in, what they did, and who changed the account", async (visitor) => {
    const { cluster, page } = visitor;
    const { orgId, admin, partnerAdmin } = await tenantWithAdmins(cluster);
    const colleague = await enrolledAs(cluster, "org-admin", { orgId });
    await api(cluster).call("POST", "/auth/login", { email: colleague.email, password: "wrong" });
    await colleague.api.call("POST", "/orgs/sites", { orgId, name: "Lisbon" });
    await admin.api.call("PATCH", `/users/${colleague.id}`, { name: "Grace Hopper" });
    await admin.api.call("POST", `/users/${colleague.id}/disable`);
    const wanted = ["user.login", "user.login.failed", "site.create", "user.update", "user.disable"];
    await until("the audit rows", async () => {
      const { body } = await admin.api.call("GET", `/audit-logs/logs?actions=${wanted.join(",")}&limit=100`);
      const found = new Set((body.data as { action: string }[]).map(({ action }) => action));
      return wanted.every((action) => found.has(action)) ? true : null;
    });
    await visitor.signIn(partnerAdmin, `/people/${colleague.id}`, partnerAdmin.recoveryCodes[0]);
    const card = (title: string) =>
      page.locator("section", { has: page.getByRole("heading", { name: title, exact: true, level: 2 }) });
    await card("Account")
      .getByText(/^Disabled /)
      .waitFor();
    await card("Account").getByRole("link", { name: "by Test org-admin" }).waitFor();
    await card("Sign-ins")
      .getByRole("row", { name: /^Signed in/ })
      .waitFor();
    await card("Sign-ins")
      .getByRole("row", { name: /^Refused wrong password/ })
      .waitFor();
    await card("Sign-ins").getByText("1 of the last 2 sign-ins was refused.").waitFor();
    await card("What they did").getByRole("link", { name: "Site created Lisbon" }).waitFor();
    await card("Changes of the account")
      .getByRole("link", { name: /^User changed by Test org-admin/ })
      .waitFor();
    await visitor.expectAccessibleAtBothWidths();
    await card("Sign-ins")
      .getByRole("link", { name: /^[\d.:a-f]+$/ })
      .first()
      .click();
    await page.getByRole("button", { name: /^Address: / }).waitFor();
    // Who may not read the trail sees the account alone.
    const reader = await admin.api.call("POST", "/roles", { orgId, name: "Desk", permissions: ["users:read"] });
    const desk = await enrolledAs(cluster, "org-viewer", { orgId });
    await admin.api.call("PATCH", `/users/${desk.id}`, { roleId: reader.body.id });
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByText("You are signed out.").waitFor();
    await visitor.signIn(desk, `/people/${colleague.id}`, desk.recoveryCodes[0]);
    await card("Account").getByText("Last sign-in").waitFor();
    expect(await page.getByRole("heading", { level: 2 }).allTextContents()).toEqual(["Access", "Account"]);
  });

  visit("give a person a new role and limit them to a site; a program gets its own principal", async (visitor) => {
    const { cluster, page } = visitor;
    const orgId = await newOrganization(cluster, await newPartner(cluster));
    await newSite(cluster, orgId);
    const admin = await enrolledAs(cluster, "org-admin", { orgId });
    const viewer = await enrolledAs(cluster, "org-viewer", { orgId });
    await visitor.signIn(admin, "/roles", admin.recoveryCodes[0]);
    await inDialog(visitor, { open: "New role", send: "Create" }, async (dialog) => {
      await dialog.getByLabel("Name").fill("Night shift");
      await dialog.getByLabel("devices:read").check();
      await visitor.expectAccessible();
    });
    await page.getByRole("link", { name: "Night shift" }).click();
    await page.getByRole("heading", { level: 1, name: "Night shift" }).waitFor();
    await page.getByRole("rowheader", { name: "devices:read" }).waitFor();
    await visitor.expectAccessible();
    await visitor.open(`/people/${viewer.id}`, /Test org-viewer/);
    await inDialog(visitor, { open: "Change …", send: "Save" }, async (dialog) => {
      await dialog.getByLabel("Role").selectOption({ label: "Night shift" });
      await dialog.getByLabel("Limited to some sites").check();
      await dialog.getByRole("group", { name: "Sites" }).getByRole("checkbox").first().check();
      await visitor.expectAccessible();
    });
    await page.getByText("Saved; in force at once, everywhere.").waitFor();
    await page.getByRole("link", { name: "Night shift" }).waitFor();
    const { body } = await admin.api.call("GET", `/users/${viewer.id}`);
    expect(body).toMatchObject({ role: "Night shift", siteIds: [expect.any(String)] });
    await page.getByRole("button", { name: /^More for / }).click();
    await page.getByRole("menuitem", { name: "Reset second factors …" }).click();
    await page.getByRole("dialog").getByRole("textbox").fill(viewer.email);
    await visitor.expectAccessible();
    await page.getByRole("dialog").getByRole("button", { name: "Reset second factors" }).click();
    await page.getByText("The second factors are removed, and every session has ended.").waitFor();
    expect((await viewer.api.call("GET", "/auth/me")).body.code).toBe("session_revoked");
    await visitor.open("/keys/principals", "Service principals");
    await page.getByRole("button", { name: "New service principal" }).first().click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("Backup");
    await dialog.getByLabel("devices:read").check();
    await dialog.getByRole("button", { name: "Create" }).click();
    const secret = (await dialog.locator("pre").textContent()) ?? "";
    const answer = async () =>
      (await fetch(`${cluster.url}/api/v1/devices`, { headers: { "x-api-key": secret } })).status;
    expect(await answer()).toBe(200);
    await dialog.getByLabel("I have stored it").check();
    await dialog.getByRole("button", { name: "Close" }).click();
    await page.getByRole("button", { name: "More for Backup" }).click();
    await page.getByRole("menuitem", { name: "Disable …" }).click();
    await dialog.getByRole("textbox").fill("Backup");
    await dialog.getByRole("button", { name: "Disable" }).click();
    await page.getByRole("cell", { name: "disabled" }).waitFor();
    expect(await answer()).toBe(401);
    await visitor.expectAccessible();
  });

  visit("set up an identity provider up to active, and claim a domain", async (visitor) => {
    const { cluster, page } = visitor;
    const orgId = await newOrganization(cluster, await newPartner(cluster));
    const admin = await enrolledAs(cluster, "org-admin", { orgId });
    const idp = await startIdp(cluster);
    try {
      await visitor.signIn(admin, "/settings/sso", admin.recoveryCodes[0]);
      await inDialog(visitor, { open: "New provider", send: "Create" }, async (dialog) => {
        await dialog.getByLabel("Name").fill("Acme directory");
        await dialog.getByLabel("Issuer").fill(idp.issuer);
        await dialog.getByLabel("Client id").fill("muster");
        await dialog.getByLabel("Client secret").fill("as the provider gave it");
        await dialog.getByLabel("Accounts of new people").selectOption({ index: 1 });
        await visitor.expectAccessible();
      });
      await page.getByRole("link", { name: "Acme directory" }).click();
      await page.getByRole("heading", { level: 1, name: /Acme directory/ }).waitFor();
      await page.getByRole("button", { name: "Check connection" }).click();
      await page.getByText(`The provider answers as ${idp.issuer}.`).waitFor();
      await page.getByRole("button", { name: "More for Acme directory" }).click();
      await page.getByRole("menuitem", { name: "Set to testing …" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Set to testing" }).click();
      await page.getByText("1 of 2 left").waitFor();
      await page.getByText("Link your own account in your profile: that runs every check.").waitFor();
      await visitor.expectAccessible();
      await inDialog(visitor, { open: "Activate …", send: "Activate" }, async () => undefined);
      await page.getByText("The provider is active.").waitFor();
      await inDialog(visitor, { open: "Change …", send: "Save" }, async (dialog) => {
        await dialog.getByLabel("E-mail domains").fill("acme.example");
        await dialog.getByLabel(/Refuse passwords/).check();
      });
      await page.getByText(/refused once an administrator has signed in/).waitFor();
      await visitor.expectAccessible();
      await visitor.open("/settings/domains", "Domains");
      const domain = `${randomUUID()}.example`;
      await inDialog(visitor, { open: "Claim a domain", send: "Claim" }, (dialog) =>
        dialog.getByLabel("Domain").fill(domain),
      );
      await page.getByRole("button", { name: `More for ${domain}` }).click();
      await page.getByRole("menuitem", { name: "Verify …" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByRole("button", { name: "Look now" }).click();
      await dialog.getByText(/^Not found yet/).waitFor();
      await visitor.expectAccessible();
    } finally {
      await idp.close();
    }
  });

  visit(
    "brand the partner's sign-in page; the audit trail is counted, streamed and kept for longer",
    async (visitor) => {
      const { cluster, page } = visitor;
      const { orgId, partnerAdmin } = await tenantWithAdmins(cluster);
      const receiver = await startReceiver(cluster);
      try {
        await visitor.signIn(partnerAdmin, "/settings/branding", partnerAdmin.recoveryCodes[0]);
        const headline = `Welcome ${randomUUID().slice(0, 8)}`;
        await page.getByLabel("Headline").fill(headline);
        await page.getByRole("button", { name: "Save" }).click();
        await page.getByText("Saved: the next sign-in page shows it.").waitFor();
        await visitor.expectAccessible();
        await visitor.open("/settings/partner", "Partner");
        await page.getByLabel("Billing e-mail").fill("bills@example.com");
        await page.getByRole("button", { name: "Save" }).first().click();
        await page.getByText("Saved.").waitFor();
        await visitor.expectAccessible();
        await visitor.open(`/audit/reports?orgId=${orgId}&kind=user-activity`, "Audit reports");
        await page.getByRole("heading", { name: "By actor" }).waitFor();
        await visitor.expectAccessibleAtBothWidths();
        for (const kind of ["security-events", "categories"]) {
          await visitor.open(`/audit/reports?orgId=${orgId}&kind=${kind}`, "Audit reports");
          await page.getByRole("heading", { name: "By action" }).waitFor();
          await visitor.expectAccessibleAtBothWidths();
        }
        // Each part leads to the entries that it counts.
        const row = page.getByRole("row", { name: /^authentication/ });
        const [count = ""] = /^[\d,]+/.exec((await row.getByRole("cell").first().textContent()) ?? "") ?? [];
        await row.getByRole("link", { name: "authentication" }).click();
        await page.getByRole("heading", { level: 1, name: /^Audit/ }).waitFor();
        await page.getByText(new RegExp(`^${count} rows?$`)).waitFor();
        await visitor.open("/audit/retention", "Retention");
        await page.getByText("Choose an organization first.").waitFor();
        await visitor.open(`/audit/retention?orgId=${orgId}`, "Retention");
        await page.getByLabel("Days").fill("400");
        await page.getByRole("button", { name: "Save" }).click();
        await page.getByText("400 days").waitFor();
        await visitor.expectAccessible();
        await visitor.open(`/audit/streams?orgId=${orgId}`, "Streams");
        await page.getByRole("button", { name: "New stream" }).first().click();
        const dialog = page.getByRole("dialog");
        await dialog.getByLabel("Name").fill("SIEM");
        await dialog.getByLabel("To").selectOption("webhook");
        await dialog.getByLabel("Address").fill(receiver.url);
        await dialog.getByRole("button", { name: "Create" }).click();
        await dialog.getByLabel("I have stored it").check();
        await dialog.getByRole("button", { name: "Close" }).click();
        await page.getByRole("cell", { name: /^SIEM/ }).waitFor();
        await visitor.expectAccessible();
      } finally {
        await receiver.close();
      }
    },
  );

  visit("change several devices at once, hide a column, and load new rows on request", async (visitor) => {
    const { cluster, page } = visitor;
    const orgId = await newOrganization(cluster, await newPartner(cluster));
    const enroll = await enroller(cluster);
    for (const hostname of ["till-1", "till-2", "till-3"]) await enroll(orgId, { hostname });
    const admin = await signedInAs(cluster, "org-admin", { orgId });
    await visitor.signIn(admin, "/devices");
    await page.getByRole("link", { name: "till-1" }).waitFor();
    await page.getByRole("button", { name: "More", exact: true }).click();
    await page.getByRole("menuitem", { name: "Columns …" }).click();
    await page.getByLabel("System", { exact: true }).last().uncheck();
    // Over the hidden one, the site and the status.
    for (let by = 0; by < 3; by++) await page.getByRole("button", { name: "Move Agent to the left" }).click();
    await visitor.expectAccessible();
    await page.getByRole("button", { name: "Close" }).click();
    const status = page.getByRole("columnheader", { name: "Status" });
    const widthOfStatus = async () => Math.round((await status.boundingBox())?.width ?? 0);
    const usual = await widthOfStatus();
    await page.getByRole("separator", { name: "Width of Status" }).press("ArrowRight");
    await page.reload();
    await page.getByRole("link", { name: "till-1" }).waitFor();
    expect(await page.getByRole("separator", { name: "Width of Status" }).getAttribute("aria-valuenow")).toBe(
      String(usual + 16),
    );
    await page.getByRole("separator", { name: "Width of Status" }).dblclick();
    await until("the usual width", async () => (await widthOfStatus()) === usual);
    const heads = await page.getByRole("columnheader").allTextContents();
    expect(heads.filter((text) => text !== "")).toEqual([
      "Host",
      "Agent",
      "Status",
      "Site",
      "Address",
      "Labels",
      "Last seen",
    ]);
    await enroll(orgId, { hostname: "till-4" });
    const news = page.getByRole("button", { name: "1 new – show" });
    await news.waitFor();
    expect(await page.getByRole("link", { name: "till-4" }).count()).toBe(0);
    await news.click();
    await page.getByRole("link", { name: "till-4" }).waitFor();
    await page.getByRole("link", { name: "till-4" }).focus();
    await page.keyboard.press("x");
    await page.keyboard.press("j");
    await page.keyboard.press("x");
    await page.getByText("2 selected").waitFor();
    await visitor.expectAccessible();
    await page.getByRole("button", { name: "Decommission …" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("textbox").fill("decommission");
    await dialog.getByRole("button", { name: "Decommission" }).click();
    await dialog.getByText("2 of 2 done.").waitFor();
    await dialog.getByRole("button", { name: "Close" }).click();
    await visitor.gone(page.getByRole("link", { name: "till-4" }));
    // The list and the navigation count the same devices.
    const shown = (await page.getByRole("table").getByRole("link").allTextContents()).length;
    await page.getByText(`${shown} devices`, { exact: true }).waitFor();
    const navigation = page.getByRole("navigation", { name: "Main" });
    await navigation.getByRole("listitem").filter({ hasText: "Devices" }).getByText(String(shown)).waitFor();
    await page.getByRole("combobox", { name: "Status" }).selectOption({ label: "any, decommissioned, too" });
    await page.getByRole("cell", { name: "decommissioned" }).nth(1).waitFor();
    expect(await page.getByRole("cell", { name: "decommissioned" }).count()).toBe(2);
    await visitor.settled();
  });
});
