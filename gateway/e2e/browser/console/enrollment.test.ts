import { expect } from "@jest/globals";
import { enrollAgent } from "../../support/enrolled-agent.ts";
import { enroller } from "../../support/enroller.ts";
import { enrolledAs } from "../../support/tenant-with-admins.ts";
import { newOrganization, newPartner, newSite } from "../../support/users.ts";
import { inChromium } from "./visitor.ts";

inChromium("enrollment in the console", (visit) => {
  visit("add devices: the key and the lines are shown once, and the page names those that join", async (visitor) => {
    const { cluster, page } = visitor;
    const orgId = await newOrganization(cluster, await newPartner(cluster));
    await newSite(cluster, orgId, { name: "Berlin" });
    const admin = await enrolledAs(cluster, "org-admin", { orgId });
    await visitor.signIn(admin, "/devices", admin.recoveryCodes[0]);
    await visitor.follow(page.getByRole("link", { name: "Add devices" }));
    await page.getByLabel("Site").selectOption({ label: "Berlin" });
    await page.getByLabel("Devices that may enroll with it").fill("2");
    await page.getByText("More settings").click();
    await page.getByLabel("Reinstalled machines").selectOption("replace");
    await visitor.expectAccessibleAtBothWidths();
    await page.getByRole("button", { name: "Create the key" }).click();
    await page.getByText(/^curl -fsSL http:.*\/install\.sh \| sudo sh$/).waitFor();
    await page.getByText(/^irm http:.*\/install\.ps1 \| iex$/).waitFor();
    const key = (await page.getByText(/^[0-9a-f]{64}$/).textContent()) ?? "";
    await page.getByText("0 of 2; waiting for the next …").waitFor();
    await visitor.expectAccessibleAtBothWidths();
    await enrollAgent(cluster, key, { hostname: "till-1" });
    await page.getByRole("link", { name: "till-1" }).waitFor();
    await page.getByText("1 of 2; waiting for the next …").waitFor();
    await visitor.open("/devices", "Devices");
    expect(await page.content()).not.toContain(key);
  });

  visit("make, rotate and delete an enrollment key, each with its own form", async (visitor) => {
    const { cluster, page } = visitor;
    const orgId = await newOrganization(cluster, await newPartner(cluster));
    const admin = await enrolledAs(cluster, "org-admin", { orgId });
    const dialog = page.getByRole("dialog");
    await visitor.signIn(admin, "/keys/enrollment", admin.recoveryCodes[0]);
    await page.getByRole("button", { name: "New enrollment key" }).first().click();
    await dialog.getByLabel("Name").fill("Tills");
    await dialog.getByLabel("Ends").selectOption("168");
    await visitor.expectAccessibleAtBothWidths();
    await dialog.getByRole("button", { name: "Create" }).click();
    const first = (await dialog.locator("pre").textContent()) ?? "";
    await dialog.getByLabel("I have stored it").check();
    await dialog.getByRole("button", { name: "Close" }).click();
    await page.getByRole("cell", { name: "active" }).waitFor();
    await visitor.expectAccessibleAtBothWidths();
    const choose = async (operation: string) => {
      await page.getByRole("button", { name: "More for Tills" }).click();
      await page.getByRole("menuitem", { name: operation }).click();
    };
    await choose("Rotate …");
    await dialog.getByLabel("Devices that may enroll with it").fill("3");
    await dialog.getByRole("button", { name: "Rotate" }).click();
    await page.getByRole("dialog", { name: "The new key" }).waitFor();
    const second = (await dialog.locator("pre").textContent()) ?? "";
    expect([/^[0-9a-f]{64}$/.test(second), second === first]).toEqual([true, false]);
    await dialog.getByLabel("I have stored it").check();
    await dialog.getByRole("button", { name: "Close" }).click();
    await page.getByText("0 of 3").waitFor();
    await choose("Delete …");
    await dialog.getByRole("button", { name: "Delete" }).click();
    await page.getByText("No enrollment key yet.").waitFor();
  });

  visit("devices that were installed anew are merged and rejected together", async (visitor) => {
    const { cluster, page } = visitor;
    const orgId = await newOrganization(cluster, await newPartner(cluster));
    const enroll = await enroller(cluster);
    for (const board of ["board-1", "board-2"]) {
      await enroll(orgId, { hostname: `old-${board}`, hardwareId: board });
      await enroll(orgId, { hostname: `new-${board}`, hardwareId: board });
    }
    const admin = await enrolledAs(cluster, "org-admin", { orgId });
    const dialog = page.getByRole("dialog");
    await visitor.signIn(admin, "/devices?status=quarantined", admin.recoveryCodes[0]);
    await page.getByRole("link", { name: "new-board-1" }).waitFor();
    const select = (row: number) => page.getByRole("checkbox", { name: `Select row ${row}`, exact: true }).check();
    await select(1);
    await page.getByRole("button", { name: "Approve and merge …" }).click();
    await dialog.getByText(/Each takes over site, groups, labels and name/).waitFor();
    await visitor.expectAccessibleAtBothWidths();
    await dialog.getByRole("button", { name: "Approve and merge" }).click();
    await dialog.getByText("1 of 1 done.").waitFor();
    await dialog.getByRole("button", { name: "Close", exact: true }).click();
    await visitor.gone(page.getByRole("link", { name: "new-board-2" }));
    await select(1);
    await page.getByRole("button", { name: "Reject …" }).click();
    await dialog.getByRole("textbox").fill("reject");
    await dialog.getByRole("button", { name: "Reject" }).click();
    await dialog.getByText("1 of 1 done.").waitFor();
    const { body } = await admin.api.call("GET", "/devices?limit=100");
    const states = (body.data as { hostname: string; status: string }[]).map(({ status }) => status).sort();
    expect(states.filter((status) => status === "decommissioned")).toHaveLength(2);
    expect(states).not.toContain("quarantined");
  });
});
