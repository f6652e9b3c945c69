import { expect } from "@jest/globals";
import { enroller } from "../../support/enroller.ts";
import { tenantWithAdmins } from "../../support/tenant-with-admins.ts";
import { inChromium } from "./visitor.ts";

/** Devices of a list with more rows than are loaded at once. */
const count = 103;

inChromium("bulk jobs in the console", (visit) => {
  visit(
    "all devices that match are changed, and the page of the job names those that were refused",
    async (visitor) => {
      const { cluster, page } = visitor;
      const { orgId, admin } = await tenantWithAdmins(cluster);
      const enroll = await enroller(cluster);
      const names = Array.from({ length: count }, (_, at) => `till-${String(at).padStart(3, "0")}`);
      const ids = await Promise.all(names.map((hostname) => enroll(orgId, { hostname })));
      expect((await admin.api.call("DELETE", `/devices/${ids[7]}`)).status).toBe(200);
      await visitor.signIn(admin, "/devices?search=till-", admin.recoveryCodes[0]);
      const selected = page.getByRole("region", { name: "Selected rows" });
      const all = selected.getByRole("button", { name: `Select all ${count} that match` });
      await page.getByRole("checkbox", { name: "Select all rows that are loaded" }).check();
      await selected.getByText("100 selected").waitFor();
      await all.click();
      await selected.getByText(`All ${count} that match`).waitFor();
      await visitor.expectAccessibleAtBothWidths();
      // A row that is taken out leaves those that are loaded.
      await page.getByRole("checkbox", { name: "Select row 1", exact: true }).uncheck();
      await selected.getByText("99 selected").waitFor();
      await page.getByRole("checkbox", { name: "Select row 1", exact: true }).check();
      await all.click();
      await selected.getByRole("button", { name: "Updates off …" }).click();
      const dialog = page.getByRole("dialog", { name: `Turn agent updates off for ${count} devices?` });
      await dialog.getByRole("button", { name: "Updates off" }).click();
      await page.getByRole("heading", { level: 1, name: /^Turn agent updates off for 103 devices\s+done$/ }).waitFor();
      await page.getByRole("status").getByText("102 of 103 changed, 1 refused, 0 left").waitFor();
      await page.getByRole("row", { name: /Device is decommissioned\. 1 till-007/ }).waitFor();
      await visitor.expectAccessibleAtBothWidths();
      expect(await page.getByRole("button", { name: "Cancel it …" }).count()).toBe(0);
      await page.reload();
      await page.getByText("till-007").waitFor();
      expect((await admin.api.call("GET", `/devices/${ids[0]}`)).body).toMatchObject({ autoUpdateEnabled: false });
      await visitor.follow(page.getByRole("link", { name: "Those that match now" }));
      expect(new URL(page.url()).searchParams.get("search")).toBe("till-");
    },
  );

  visit(
    "nothing happens when another number matches by then: it is said, and what was typed stays",
    async (visitor) => {
      const { cluster, page } = visitor;
      const { orgId, admin } = await tenantWithAdmins(cluster);
      const enroll = await enroller(cluster);
      const make = (from: number, to: number) =>
        Promise.all(Array.from({ length: to - from }, (_, at) => enroll(orgId, { hostname: `kiosk-${from + at}` })));
      await make(0, count);
      await visitor.signIn(admin, "/devices?search=kiosk-", admin.recoveryCodes[0]);
      await page.getByRole("checkbox", { name: "Select all rows that are loaded" }).check();
      await page.getByRole("button", { name: `Select all ${count} that match` }).click();
      await page.getByRole("button", { name: "Decommission …" }).click();
      const dialog = page.getByRole("dialog");
      const word = dialog.getByRole("textbox", { name: /^Type decommission/ });
      const start = dialog.getByRole("button", { name: "Decommission", exact: true });
      await make(count, count + 3);
      expect(await start.isDisabled()).toBe(true);
      await word.fill("decommission");
      await start.click();
      await dialog.getByText(`106 devices match the filters now, not ${count}. Nothing was changed`).waitFor();
      await page.getByRole("dialog", { name: "Decommission 106 devices?" }).waitFor();
      expect(await word.inputValue()).toBe("decommission");
      await visitor.expectAccessibleAtBothWidths();
      const before = await admin.api.call("GET", "/devices?status=decommissioned");
      expect(before.body.data).toEqual([]);
      // A job of a hundred devices ends sooner than it can be cancelled by hand: the page is shown one that runs.
      await page.route("**/api/v1/devices/bulk-jobs/*", async (route) => {
        if (route.request().method() !== "GET") return route.continue();
        const response = await route.fetch();
        await route.fulfill({ response, json: { ...(await response.json()), status: "running", finishedAt: null } });
      });
      await start.click();
      await page.getByRole("heading", { level: 1, name: /^Decommission 106 devices\s+running$/ }).waitFor();
      await page.getByRole("button", { name: "Cancel it …" }).click();
      const cancelled = page.waitForResponse((response) => response.request().method() === "DELETE");
      await dialog.getByRole("button", { name: "Cancel it" }).click();
      expect((await cancelled).status()).toBe(200);
      await page.getByText("The job is cancelled.").waitFor();
      // A request may be between its reply and the page.
      await page.unrouteAll({ behavior: "wait" });
      await page.getByRole("heading", { level: 1, name: /(done|cancelled)$/ }).waitFor();
    },
  );
});
