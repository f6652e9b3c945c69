import { expect } from "@jest/globals";
import { until } from "@muster/testing";
import { newRollout } from "../../support/releases.ts";
import { enrolledAs, tenantWithAdmins } from "../../support/tenant-with-admins.ts";
import { signInAgain } from "../../support/users.ts";
import { inChromium, type Visitor } from "./visitor.ts";

/** Opens the command menu, types a command, and starts the operation of this title; its record's note follows it. */
async function command({ page }: Visitor, text: string, title: string | RegExp): Promise<void> {
  await page.keyboard.press("Control+k");
  await page.getByRole("dialog", { name: "Search or run" }).getByRole("combobox").fill(text);
  const option = page.getByRole("option", { name: title });
  await option.waitFor();
  await option.click();
}

inChromium("the command menu of the console", (visit) => {
  visit(
    "runs what can be done with a key, a session, an alert and a webhook, found by verb and name",
    async (visitor) => {
      const { cluster, page } = visitor;
      const { orgId, admin } = await tenantWithAdmins(cluster);
      const make = async (path: string, body: object) => {
        const reply = await admin.api.call("POST", path, body);
        expect({ path, status: reply.status }).toEqual({ path, status: 201 });
        return String(reply.body.id);
      };
      const keyId = await make("/api-keys", { orgId, name: "Prod pipeline", scopes: ["devices:read"] });
      const alert = { orgId, name: "Odd hours", template: "many-refusals", notify: { mail: [admin.id] } };
      const alertId = await make("/audit-logs/alerts", alert);
      const dialog = page.getByRole("dialog");
      await visitor.signIn(admin, "/profile", admin.recoveryCodes[0]);

      // By the verb, the kind and a part of the name.
      await command(visitor, "rotate key pipe", "Rotate Prod pipeline …");
      await dialog.getByLabel("The old key ends").selectOption("3600");
      await dialog.getByRole("button", { name: "Rotate" }).click();
      await dialog.getByRole("checkbox", { name: "I have stored it" }).check();
      await dialog.getByRole("button", { name: "Close" }).click();
      await command(visitor, "pause odd", "Pause Odd hours alert, active");
      await page.getByText("Odd hours is paused: rows of this time do not fire it.").waitFor();
      expect((await admin.api.call("GET", `/audit-logs/alerts/${alertId}`)).body.status).toBe("paused");
      await command(visitor, "revoke key prod", "Revoke Prod pipeline …");
      await dialog.getByRole("textbox").fill("Prod pipeline");
      await dialog.getByRole("button", { name: "Revoke" }).click();
      await page.getByText("Prod pipeline is revoked.").waitFor();
      expect((await admin.api.call("GET", `/api-keys/${keyId}`)).body.status).toBe("revoked");

      // What is made has no record yet: its verb is enough.
      await command(visitor, "new webhook", "New webhook …");
      await page.getByRole("dialog", { name: "New webhook" }).getByRole("button", { name: "Cancel" }).click();
      await command(visitor, "change the ret", "Change the retention");
      await page.getByRole("heading", { level: 1, name: "Retention" }).waitFor();

      const elsewhere = await signInAgain(cluster, admin);
      await page.keyboard.press("Control+k");
      const palette = page.getByRole("dialog", { name: "Search or run" });
      await palette.getByRole("combobox").fill("revoke session");
      await visitor.expectAccessible();
      await palette.getByRole("option", { name: "End all others" }).click();
      await page.getByText("Your other sessions have ended.").waitFor();
      await until(
        "the end of the other session",
        async () => (await elsewhere.api.call("GET", "/auth/me")).status === 401,
      );
    },
  );

  visit("offers what the page on screen offers, and pauses a rollout by its version", async (visitor) => {
    const { cluster, page } = visitor;
    const rollout = await newRollout(cluster);
    const root = await enrolledAs(cluster, "platform-admin", {});
    const dialog = page.getByRole("dialog");
    await visitor.signIn(root, "/profile", root.recoveryCodes[0]);
    await command(visitor, `pause rollout ${rollout.version}`, `Pause helper ${rollout.version} … rollout, running`);
    await dialog.getByRole("button", { name: "Pause" }).click();
    await page.getByText("The rollout is paused.").waitFor();
    expect((await root.api.call("GET", `/agent-versions/rollouts/${rollout.id}`)).body.state).toBe("paused");
    await visitor.open(`/releases/rollouts/${rollout.id}`, new RegExp(rollout.version));
    await page.keyboard.press("Control+k");
    const palette = page.getByRole("dialog", { name: "Search or run" });
    await palette.getByRole("combobox").fill("cancel");
    await palette
      .getByRole("group", { name: "On this page" })
      .getByRole("option", { name: /^Cancel it/ })
      .click();
    await dialog.getByRole("button", { name: "Cancel it" }).click();
    await page.getByText("The rollout is cancelled.").waitFor();
  });
});
