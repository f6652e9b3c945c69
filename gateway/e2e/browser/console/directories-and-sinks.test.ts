import { expect } from "@jest/globals";
import { until } from "@muster/testing";
import { startReceiver } from "../../support/receiver.ts";
import { groupUrn, newDirectory, userUrn } from "../../support/scim.ts";
import { tenantWithAdmins } from "../../support/tenant-with-admins.ts";
import { inChromium, type Visitor } from "./visitor.ts";

async function choose({ page }: Visitor, record: string, operation: string) {
  await page.getByRole("button", { name: `More for ${record}`, exact: true }).click();
  await page.getByRole("menuitem", { name: operation }).click();
}

inChromium("directories and audit sinks in the console", (visit) => {
  visit("make a directory, map its groups, try them, read its log, pause it and rotate its token", async (visitor) => {
    const { cluster, page } = visitor;
    const { admin } = await tenantWithAdmins(cluster);
    const dialog = page.getByRole("dialog");
    await visitor.signIn(admin, "/settings/directories", admin.recoveryCodes[0]);
    await page.getByRole("button", { name: "New directory" }).first().click();
    await dialog.getByLabel("Name").fill("Entra");
    await visitor.expectAccessibleAtBothWidths();
    await dialog.getByRole("button", { name: "Create" }).click();
    await dialog.getByText(/\/api\/v1\/scim\/v2/).waitFor();
    await dialog.getByLabel("I have stored it").check();
    await dialog.getByRole("button", { name: "Close" }).click();
    await page.getByRole("link", { name: "Entra" }).waitFor();
    await visitor.expectAccessibleAtBothWidths();

    const { id, scim } = await newDirectory(cluster, admin.api, { name: "Okta" });
    const tills = await scim("POST", "/Groups", { schemas: [groupUrn], displayName: "Tills", members: [] });
    await scim("POST", "/Groups", { schemas: [groupUrn], displayName: "Offices", members: [] });
    expect(tills.status).toBe(201);
    for (let time = 0; time < 2; time++) {
      expect((await scim("POST", "/Users", { schemas: [userUrn] })).status).toBe(400);
    }
    await visitor.open(`/settings/directories/${id}`, /Okta/);
    await page.getByRole("button", { name: "Add a group" }).click();
    await page.getByRole("combobox", { name: "Group" }).selectOption({ label: "Tills" });
    const role = page.getByRole("combobox", { name: "Role" });
    const viewer = role.locator("option", { hasText: /viewer/i }).first();
    await viewer.waitFor({ state: "attached" });
    await role.selectOption({ label: (await viewer.textContent()) ?? "" });
    await page.getByRole("button", { name: "Add a claim" }).click();
    await page.getByLabel("Value of the groups claim").fill("office, main");
    await visitor.expectAccessibleAtBothWidths();
    await page.getByRole("button", { name: "Move up row 2" }).click();
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved: roles have changed everywhere.").waitFor();
    // The table again, with the group that no row names.
    await page.getByRole("rowheader", { name: "1. office, main claim" }).waitFor();
    await page.getByRole("row", { name: /^Offices 0 not mapped/ }).waitFor();
    await visitor.expectAccessibleAtBothWidths();
    const { body } = await admin.api.call("GET", `/directories/${id}/mappings`);
    const saved = (body.data as { claim: string | null; groupName: string | null }[]).map(({ claim, groupName }) => [
      claim,
      groupName,
    ]);
    expect(saved).toEqual([
      ["office, main", null],
      [null, "Tills"],
    ]);
    await page.getByRole("button", { name: "Try the mapping" }).click();
    await page.getByRole("checkbox", { name: /^Tills/ }).check();
    await page.getByRole("button", { name: "Try", exact: true }).click();
    await page
      .getByRole("status")
      .locator("b", { hasText: /viewer/i })
      .waitFor();
    await page.getByRole("checkbox", { name: /^Tills/ }).uncheck();
    await page.getByRole("button", { name: "Try", exact: true }).click();
    await page.getByText("Such a person has no access.").waitFor();
    const notice = page.getByRole("note").filter({ hasText: /^2 of 4 requests in the last .* were refused\./ });
    await notice.getByText(/Map an attribute to userName in the directory, then let it provision again\.$/).waitFor();
    await notice.getByRole("button", { name: "Copy what to change" }).waitFor();
    // What was refused stands below at once: it says why.
    const answers = page.getByRole("group", { name: "Answers" });
    await answers.getByRole("button", { name: "Refused", pressed: true }).waitFor();
    await page.getByRole("cell", { name: 'A User needs "userName".' }).first().waitFor();
    await visitor.expectAccessibleAtBothWidths();

    await page.getByRole("button", { name: "Rotate token …" }).click();
    await dialog.getByLabel("Earlier tokens end").selectOption("0");
    await dialog.getByRole("button", { name: "Rotate" }).click();
    await page.getByRole("dialog", { name: "The new token" }).waitFor();
    await dialog.getByLabel("I have stored it").check();
    await dialog.getByRole("button", { name: "Close" }).click();
    expect((await scim("GET", "/Users")).status).toBe(401);
    await page.getByRole("button", { name: "Pause …" }).click();
    await dialog.getByRole("button", { name: "Pause" }).click();
    await page.getByRole("heading", { level: 1, name: /paused/ }).waitFor();
    await page.getByRole("button", { name: "Resume" }).click();
    await page.getByRole("heading", { level: 1, name: /healthy|failing/ }).waitFor();
    await choose(visitor, "Okta", "Delete …");
    await dialog.getByRole("textbox").fill("Okta");
    await dialog.getByRole("button", { name: "Delete" }).click();
    await page.getByText("Okta is deleted.").waitFor();
  });

  visit("make a stream of each type, show the answer of a test, and say that it fails", async (visitor) => {
    const { cluster, page } = visitor;
    const { orgId, partnerAdmin } = await tenantWithAdmins(cluster);
    const receiver = await startReceiver(cluster);
    const dialog = page.getByRole("dialog");
    try {
      await visitor.signIn(partnerAdmin, `/audit/streams?orgId=${orgId}`, partnerAdmin.recoveryCodes[0]);
      await page.getByRole("button", { name: "New stream" }).first().click();
      for (const type of ["s3", "syslog", "webhook", "archive", "https"]) {
        await dialog.getByLabel("To").selectOption(type);
        await visitor.expectAccessible();
      }
      await dialog.getByLabel("Name").fill("SIEM");
      await dialog.getByLabel("Address").fill("https://10.0.0.1/rows");
      await dialog.getByLabel("Headers").fill("Authorization: Splunk hidden-token");
      await dialog.getByRole("button", { name: "Create" }).click();
      await dialog.getByText(/not public/).waitFor();
      expect(await dialog.getByLabel("Headers").inputValue()).toBe("Authorization: Splunk hidden-token");
      await dialog.getByLabel("Address").fill(receiver.url);
      await visitor.expectAccessibleAtBothWidths();
      await dialog.getByRole("button", { name: "Create" }).click();
      await page.getByRole("cell", { name: /^SIEM/ }).waitFor();
      expect(await page.content()).not.toContain("hidden-token");
      await until("the first rows", () => receiver.received.length > 0);
      expect(receiver.received[0]?.headers.authorization).toBe("Splunk hidden-token");
      receiver.answer((_received, response) => void response.writeHead(503).end("come later"));
      await choose(visitor, "SIEM", "Send a test");
      await page.getByRole("dialog", { name: "The answer of SIEM" }).getByText("come later", { exact: true }).waitFor();
      await visitor.expectAccessibleAtBothWidths();
      await dialog.getByRole("button", { name: "Close" }).click();
      await page.getByRole("cell", { name: "failing" }).waitFor();
      await choose(visitor, "SIEM", "Pause …");
      await dialog.getByRole("button", { name: "Pause" }).click();
      await page.getByRole("cell", { name: "paused" }).waitFor();
      await visitor.expectAccessibleAtBothWidths();
    } finally {
      await receiver.close();
    }
  });

  visit("export a chain as a job, and read its manifest and its parts", async (visitor) => {
    const { cluster, page } = visitor;
    const { admin } = await tenantWithAdmins(cluster);
    const dialog = page.getByRole("dialog");
    await visitor.signIn(admin, "/audit/exports", admin.recoveryCodes[0]);
    await page.getByText("No export yet.").waitFor();
    await page.getByRole("button", { name: "New export" }).first().click();
    await dialog.getByLabel("Category").selectOption("authentication");
    await visitor.expectAccessibleAtBothWidths();
    await dialog.getByRole("button", { name: "Start" }).click();
    await page.getByText("category authentication").waitFor();
    await page.getByRole("cell", { name: "done" }).waitFor();
    await visitor.expectAccessibleAtBothWidths();
    await choose(visitor, "category authentication", "Download …");
    for (const [button, file] of [
      ["Manifest", "manifest.jsonl.gz"],
      ["Part 1 of 1", "part-000001.jsonl.gz"],
    ] as const) {
      const download = page.waitForEvent("download");
      await dialog.getByRole("button", { name: button }).click();
      expect((await download).suggestedFilename()).toBe(file);
    }
    await dialog.getByRole("button", { name: "Close" }).click();
    await choose(visitor, "category authentication", "Delete …");
    await dialog.getByRole("button", { name: "Delete" }).click();
    await page.getByText("No export yet.").waitFor();
  });
});
