import { expect } from "@jest/globals";
import { until } from "@muster/testing";
import { tenantWithAdmins } from "../../support/tenant-with-admins.ts";
import { signedInAs } from "../../support/users.ts";
import { inChromium } from "./visitor.ts";

inChromium("links to the webhook portal in the console", (visit) => {
  visit("a link is made with what it allows, shown once, opened by somebody else, and revoked", async (visitor) => {
    const { cluster, page } = visitor;
    const { admin } = await tenantWithAdmins(cluster);
    const dialog = page.getByRole("dialog");
    await visitor.signIn(admin, "/webhooks", admin.recoveryCodes[0]);
    await page.getByRole("link", { name: "Portal links" }).click();
    await page.getByText("No portal link is in use.").waitFor();
    await visitor.expectAccessibleAtBothWidths();
    await page.getByRole("button", { name: "New portal link" }).first().click();
    await dialog.getByLabel("Name").fill("Acme developers");
    await dialog.getByRole("checkbox", { name: "make, change and delete webhooks" }).check();
    await dialog.getByLabel("Link and session end").selectOption("60");
    await dialog.getByText("The portal stands in an application").click();
    await dialog.getByLabel("Pages that may embed it").fill("http://app.example.com");
    await visitor.expectAccessibleAtBothWidths();
    await dialog.getByRole("button", { name: "Create" }).click();
    await dialog.getByText(/Exact https origins/).waitFor();
    expect(await dialog.getByLabel("Name").inputValue()).toBe("Acme developers");
    await dialog.getByLabel("Pages that may embed it").fill("https://app.example.com");
    await dialog.getByRole("button", { name: "Create" }).click();
    const shown = page.getByRole("dialog", { name: "The link to the portal" });
    const url = (await shown.locator("pre").textContent()) ?? "";
    expect(new URL(url).hash).toMatch(/^#code=/);
    await visitor.expectAccessibleAtBothWidths();
    await shown.getByRole("checkbox", { name: "I have stored it" }).check();
    await shown.getByRole("button", { name: "Close" }).click();
    await page.getByRole("cell", { name: "not opened" }).waitFor();
    expect(await page.content()).not.toContain("#code=");
    const { body } = await admin.api.call("GET", "/webhooks/portal-links");
    const [link] = body.data as { id: string; capabilities: string[]; createdAt: string; expiresAt: string }[];
    expect(link?.capabilities).toEqual(["manage_webhooks"]);
    expect(Date.parse(link?.expiresAt ?? "") - Date.parse(link?.createdAt ?? "")).toBe(3_600_000);

    const portal = await visitor.context.newPage();
    await portal.goto(url);
    await portal.getByRole("heading", { name: "Webhooks", level: 1 }).waitFor();
    await page.keyboard.press("r");
    await page.getByRole("cell", { name: "open", exact: true }).waitFor();
    await page.getByRole("button", { name: "More for Acme developers" }).click();
    await page.getByRole("menuitem", { name: "Revoke …" }).click();
    await visitor.expectAccessible();
    await dialog.getByRole("button", { name: "Revoke" }).click();
    await page.getByRole("cell", { name: "revoked" }).waitFor();
    await portal.getByText("This session has ended: its link has expired or was revoked.").waitFor();
    await portal.close();
    await until("the audit row", async () => {
      const { body: rows } = await admin.api.call("GET", "/audit-logs/logs?action=portal_link.revoke");
      return (rows.data as unknown[]).length === 1;
    });
  });

  visit("who may only read webhooks sees the links, and why there is none to make", async (visitor) => {
    const { cluster, page } = visitor;
    const { orgId, admin } = await tenantWithAdmins(cluster);
    await admin.api.call("POST", "/webhooks/portal-links", { name: "Of the administrator" });
    const viewer = await signedInAs(cluster, "org-viewer", { orgId });
    await visitor.signIn(viewer, "/webhooks/portal-links");
    await page.getByRole("cell", { name: "Of the administrator", exact: true }).waitFor();
    await page
      .getByRole("button", { name: "New portal link" })
      .getByText(/You need the permission/)
      .waitFor({
        state: "attached",
      });
    await page.getByRole("button", { name: "More for Of the administrator" }).click();
    expect(await page.getByRole("menuitem", { name: /^Revoke/ }).getAttribute("aria-disabled")).toBe("true");
    await visitor.expectAccessible();
  });
});
