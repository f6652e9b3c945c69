import { expect } from "@jest/globals";
import { until } from "@muster/testing";
import { enroller } from "../../support/enroller.ts";
import { totpCode } from "../../support/operator.ts";
import { startReceiver } from "../../support/receiver.ts";
import { tenantWithAdmins } from "../../support/tenant-with-admins.ts";
import { signedInAs } from "../../support/users.ts";
import { inChromium } from "./visitor.ts";

inChromium("policies, replays and rarer operations in the console", (visit) => {
  visit("an organization is pinned with policy and window, and its audit rows are kept for less", async (visitor) => {
    const { cluster, page } = visitor;
    const { orgId, admin, partnerAdmin } = await tenantWithAdmins(cluster);
    await visitor.signIn(partnerAdmin, `/orgs/${orgId}`, partnerAdmin.recoveryCodes[0]);
    const updates = page.locator("section", { has: page.getByRole("heading", { name: "Agent updates" }) });
    const form = page.getByRole("dialog");
    await updates.getByRole("button", { name: "Change updates …" }).click();
    await form.getByLabel("Agent version").selectOption("latest");
    await form.getByLabel("Policy").selectOption("manual");
    await form.getByRole("checkbox", { name: "Monday" }).check();
    await form.getByLabel("From").fill("22:00");
    await form.getByLabel("Until").fill("04:00");
    await form.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved; it counts from the next heartbeat on.").waitFor();
    await updates.getByText("manual, by the organization").waitFor();
    await updates.getByText("Monday, 22:00 until 04:00, by the organization").waitFor();
    await visitor.expectAccessibleAtBothWidths();
    const { body } = await admin.api.call("GET", `/orgs/organizations/${orgId}/agent-updates`);
    expect(body.fields).toMatchObject({
      agentTarget: { value: "latest" },
      windowDays: { value: ["mon"] },
      windowEnd: { value: "04:00" },
    });

    await visitor.open(`/audit/retention?orgId=${orgId}`, "Retention");
    await page.getByLabel("Days").fill("30");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved: the shorter time is in force in 24 hours.").waitFor();
    await page.getByText("30 days").waitFor();
  });

  visit("an organization's administrator holds its updates, and sees what its agents may log", async (visitor) => {
    const { cluster, page } = visitor;
    const { orgId, admin } = await tenantWithAdmins(cluster);
    await visitor.signIn(admin, "/devices", admin.recoveryCodes[0]);
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Organization" }).click();
    await page.getByRole("heading", { level: 1, name: "Organization" }).waitFor();
    await page
      .getByText(/^0 of [\d,]+ a day$/)
      .first()
      .waitFor();
    await visitor.expectAccessibleAtBothWidths();
    await page.getByRole("button", { name: "Change updates …" }).click();
    await page.getByRole("dialog").getByLabel("Policy").selectOption("manual");
    await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
    await page.getByText("manual, by the organization").waitFor();
    const { body } = await admin.api.call("GET", `/orgs/organizations/${orgId}/agent-updates`);
    expect(body.fields).toMatchObject({ updatePolicy: { value: "manual" } });
  });

  visit(
    "a required second factor lets who has none only enroll one; the recovery codes stay on screen",
    async (visitor) => {
      const { cluster, page } = visitor;
      const { orgId, admin } = await tenantWithAdmins(cluster);
      const user = await signedInAs(cluster, "org-viewer", { orgId });
      await visitor.signIn(admin, "/settings/sign-in", admin.recoveryCodes[0]);
      await page.getByLabel("Require a second factor").check();
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByText("Saved: whoever has no second factor must enroll one now.").waitFor();
      await visitor.expectAccessibleAtBothWidths();
      await page.getByRole("button", { name: "Sign out" }).first().click();
      await page.getByLabel("E-mail").waitFor();

      await visitor.signIn(user, "/devices");
      await page.getByRole("heading", { level: 1, name: "A second factor is required" }).waitFor();
      await visitor.expectAccessibleAtBothWidths();
      await page.getByRole("button", { name: "Set it up" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("Your password").fill(user.password);
      await dialog.getByRole("button", { name: "Continue" }).click();
      const secret = ((await dialog.locator("pre").textContent()) ?? "").replaceAll(" ", "");
      await dialog.getByLabel("The six digits that the app shows").fill(totpCode(secret));
      await dialog.getByRole("button", { name: "Turn on" }).click();
      await dialog.getByLabel("I have stored them").waitFor();
      // As after a visit to the password manager.
      await until("that the session is read again", async () => {
        const answer = page.waitForResponse((reply) => reply.url().endsWith("/api/v1/auth/me"), { timeout: 1_000 });
        await page.evaluate("window.dispatchEvent(new Event('visibilitychange'))");
        return answer.then(
          () => true,
          () => false,
        );
      });
      await visitor.settled();
      await dialog.getByLabel("I have stored them").check();
      await dialog.getByRole("button", { name: "Go on" }).click();
      await page.getByRole("heading", { level: 1, name: "Devices" }).waitFor();
    },
  );

  visit("what was delivered is replayed to its receiver", async (visitor) => {
    const { cluster, page } = visitor;
    const { admin } = await tenantWithAdmins(cluster);
    const receiver = await startReceiver(cluster);
    const dialog = page.getByRole("dialog");
    try {
      const wanted = { name: "Tickets", url: receiver.url, events: ["*"] };
      const { body: webhook } = await admin.api.call("POST", "/webhooks", wanted);
      expect((await admin.api.call("POST", "/events", { type: "device.online", data: {} })).status).toBe(202);
      await until("the event", () => receiver.received.some(({ body }) => body.includes("device.online")));
      await until("that its delivery is recorded", async () => {
        const { body } = await admin.api.call("GET", `/webhooks/${webhook.id}/deliveries?status=delivered`);
        return (body.data as unknown[]).length > 0;
      });
      const before = receiver.received.length;
      await visitor.signIn(admin, `/webhooks/${webhook.id}`, admin.recoveryCodes[0]);
      await page.getByText(/^Deliveries are not signed\. Anybody can forge one/).waitFor();
      await page.getByRole("button", { name: "Replay …" }).click();
      await dialog.getByLabel("Since").fill(`${new Date(Date.now() - 2 * 86_400_000).toISOString().slice(0, 16)}`);
      await dialog.getByLabel("Until").fill(new Date(Date.now() - 3 * 86_400_000).toISOString().slice(0, 16));
      await dialog.getByLabel("Deliveries").selectOption("delivered");
      await visitor.expectAccessible();
      await dialog.getByRole("button", { name: "Replay" }).click();
      await dialog.getByText("Must be before until, and in the past").waitFor();
      await dialog.getByLabel("Until").fill("");
      await dialog.getByRole("button", { name: "Replay" }).click();
      await page.getByText("The replay is queued.").waitFor();
      await until("the event once more", () => receiver.received.length > before);
      await page.getByRole("cell", { name: "that were delivered" }).waitFor();
    } finally {
      await receiver.close();
    }
  });

  visit("a person's sessions are ended, and a device is put into a group and updated", async (visitor) => {
    const { cluster, page } = visitor;
    const { orgId, admin } = await tenantWithAdmins(cluster);
    const deviceId = await (await enroller(cluster))(orgId, { hostname: "web-01" });
    const group = await admin.api.call("POST", "/device-groups", { orgId, name: "Canaries" });
    const viewer = await signedInAs(cluster, "org-viewer", { orgId });
    const dialog = page.getByRole("dialog");
    const choose = async (of: string, verb: string) => {
      await page.getByRole("button", { name: `More for ${of}` }).click();
      await page.getByRole("menuitem", { name: `${verb} …` }).click();
    };
    await visitor.signIn(admin, `/people/${viewer.id}`, admin.recoveryCodes[0]);
    await choose("Test org-viewer", "End sessions");
    await dialog.getByRole("button", { name: "End sessions" }).click();
    await page.getByText("1 session has ended.").waitFor();
    expect((await viewer.api.call("GET", "/auth/me")).status).toBe(401);

    await visitor.open(`/devices/${deviceId}`, /web-01/);
    await choose("web-01", "Add to a group");
    await dialog.getByLabel("Group").selectOption({ label: "Canaries" });
    await visitor.expectAccessible();
    await dialog.getByRole("button", { name: "Add" }).click();
    await page.getByText("web-01 is in the group.").waitFor();
    const { body } = await admin.api.call("GET", `/devices?groupId=${group.body.id}`);
    expect((body.data as { id: string }[]).map(({ id }) => id)).toEqual([deviceId]);
    await choose("web-01", "Update now");
    await dialog.getByRole("button", { name: "Update now" }).click();
    await page.getByText("Its next heartbeat is offered its target version.").waitFor();
  });
});
