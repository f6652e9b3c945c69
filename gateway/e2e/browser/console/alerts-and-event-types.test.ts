import { expect } from "@jest/globals";
import { tenantWithAdmins } from "../../support/tenant-with-admins.ts";
import { newSite } from "../../support/users.ts";
import { inChromium } from "./visitor.ts";

inChromium("alerts and event types in the console", (visit) => {
  visit(
    "an alert has the filters of the audit page, or is a ready-made one; it is changed and paused",
    async (visitor) => {
      const { cluster, page } = visitor;
      const { orgId, admin } = await tenantWithAdmins(cluster);
      await newSite(cluster, orgId);
      const alerts = async () =>
        (await admin.api.call("GET", "/audit-logs/alerts")).body.data as Record<string, unknown>[];
      const dialog = page.getByRole("dialog");
      await visitor.signIn(admin, "/audit?action=site.create", admin.recoveryCodes[0]);
      await page.getByRole("button", { name: "Alert on these …" }).click();
      await dialog.getByText("It looks for the filters on screen, without their times: action site.create.").waitFor();
      await dialog.getByLabel("Name", { exact: true }).fill("New sites");
      await visitor.expectAccessibleAtBothWidths();
      await dialog.getByRole("button", { name: "Create" }).click();
      await page.getByText("New sites watches the rows that are sealed from now on.").waitFor();
      await visitor.follow(page.getByRole("link", { name: "Alerts" }));
      await page.getByRole("row", { name: /New sites active action site\.create/ }).waitFor();

      await page.getByRole("button", { name: "New alert" }).first().click();
      await dialog.getByLabel("What it looks for").selectOption({ label: "An API key gets every scope" });
      await dialog.getByLabel("Name", { exact: true }).fill("Mighty keys");
      await dialog.getByLabel("Only when several rows match within some minutes").check();
      await dialog.getByLabel("Rows", { exact: true }).fill("2");
      await dialog.getByRole("checkbox", { name: /^A mail to me/ }).uncheck();
      await dialog.getByRole("button", { name: "Create" }).click();
      // Whom it is to notify: nobody is refused, and the input stays.
      await dialog.getByRole("alert").waitFor();
      expect(await dialog.getByLabel("Name", { exact: true }).inputValue()).toBe("Mighty keys");
      await dialog.getByRole("checkbox", { name: /^The event audit\.alert_fired/ }).check();
      await dialog.getByRole("button", { name: "Create" }).click();
      await page.getByRole("row", { name: /Mighty keys active An API key gets every scope/ }).waitFor();
      await visitor.expectAccessibleAtBothWidths();
      expect(await alerts()).toMatchObject([
        { template: "key-with-all-scopes", threshold: { count: 2, minutes: 10 }, notify: { webhook: true, mail: [] } },
        { name: "New sites", query: { action: "site.create" }, notify: { webhook: false, mail: [admin.id] } },
      ]);

      const choose = async (name: string, operation: string) => {
        await page.getByRole("button", { name: `More for ${name}` }).click();
        await page.getByRole("menuitem", { name: operation }).click();
      };
      await choose("Mighty keys", "Pause");
      await page.getByRole("row", { name: /Mighty keys paused/ }).waitFor();
      await choose("Mighty keys", "Change …");
      await dialog.getByLabel("Name", { exact: true }).fill("Keys of everything");
      await dialog.getByRole("button", { name: "Save" }).click();
      await page.getByRole("row", { name: /Keys of everything paused/ }).waitFor();
      await choose("Keys of everything", "Resume");
      await page.getByRole("row", { name: /Keys of everything active/ }).waitFor();
      await choose("New sites", "Delete …");
      await dialog.getByRole("button", { name: "Delete" }).click();
      await visitor.gone(page.getByRole("row", { name: /New sites/ }));
      expect(await alerts()).toMatchObject([{ name: "Keys of everything", status: "active" }]);
    },
  );

  visit("an own event type is made, changed and archived; webhooks can subscribe to it", async (visitor) => {
    const { cluster, page } = visitor;
    const { admin } = await tenantWithAdmins(cluster);
    const dialog = page.getByRole("dialog");
    await visitor.signIn(admin, "/webhooks/event-types", admin.recoveryCodes[0]);
    await page.getByText("No own event type yet.").waitFor();
    await page.getByRole("button", { name: "New event type" }).click();
    await dialog.getByLabel("Type", { exact: true }).fill("order_shipped");
    await dialog.getByLabel("Description").fill("An order has left the warehouse.");
    await dialog.getByLabel("JSON Schema of data").fill('{"type": "object", "required": ["order"]');
    await dialog.getByRole("button", { name: "Create" }).click();
    await dialog.getByText(/^This is no JSON/).waitFor();
    await visitor.expectAccessibleAtBothWidths();
    await dialog.getByLabel("JSON Schema of data").fill('{"type": "object", "required": ["order"]}');
    await dialog.getByLabel("Example of data").fill('{"parcel": 1}');
    await dialog.getByRole("button", { name: "Create" }).click();
    await dialog.getByRole("textbox", { name: "Example of data" }).and(page.locator("[aria-invalid=true]")).waitFor();
    expect(await dialog.getByLabel("Type", { exact: true }).inputValue()).toBe("order_shipped");
    await dialog.getByLabel("Example of data").fill('{"order": 1}');
    await dialog.getByRole("button", { name: "Create" }).click();
    await page.getByText("Webhooks can subscribe to custom.order_shipped.").waitFor();
    await page.getByRole("row", { name: /custom\.order_shipped .* has a schema active/ }).waitFor();
    await visitor.expectAccessibleAtBothWidths();

    const choose = async (operation: string) => {
      await page.getByRole("button", { name: "More for custom.order_shipped" }).click();
      await page.getByRole("menuitem", { name: operation }).click();
    };
    await choose("Change …");
    expect(await dialog.getByLabel("Example of data").inputValue()).toBe('{\n  "order": 1\n}');
    await dialog.getByLabel("JSON Schema of data").fill("");
    await dialog.getByLabel("Version").fill("2");
    await dialog.getByRole("button", { name: "Save" }).click();
    await page.getByRole("row", { name: /custom\.order_shipped .* 2 any object active/ }).waitFor();
    await choose("Archive …");
    await dialog.getByRole("button", { name: "Archive" }).click();
    await page.getByRole("row", { name: /custom\.order_shipped .* archived/ }).waitFor();
    await choose("Take it back");
    await page.getByText("Events of custom.order_shipped are accepted again.").waitFor();

    await visitor.follow(page.getByRole("link", { name: "Webhooks" }).last());
    await page.getByRole("button", { name: "New webhook" }).first().click();
    await dialog.getByRole("checkbox", { name: /^All events/ }).uncheck();
    await dialog.getByRole("checkbox", { name: /^custom\.order_shipped/ }).check();
    await visitor.expectAccessible();
  });
});
