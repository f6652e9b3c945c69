import { expect } from "@jest/globals";
import { until } from "@muster/testing";
import { agentMaker } from "../../support/agent-maker.ts";
import { enroller } from "../../support/enroller.ts";
import { tenantWithAdmins } from "../../support/tenant-with-admins.ts";
import { newSite, signedInAs } from "../../support/users.ts";
import { inChromium } from "./visitor.ts";

inChromium("views of lists in the console", (visit) => {
  visit("save the filters on screen under any name, share them, and apply them as another user", async (visitor) => {
    const { cluster, page } = visitor;
    const { orgId, admin } = await tenantWithAdmins(cluster);
    const enroll = await enroller(cluster);
    for (const hostname of ["web-01", "db-01"]) await enroll(orgId, { hostname });
    const viewer = await signedInAs(cluster, "org-viewer", { orgId });
    const dialog = page.getByRole("dialog");
    const name = `מבט ${"x".repeat(250)}`;
    await visitor.signIn(admin, "/devices?search=web&status=offline,quarantined", admin.recoveryCodes[0]);
    await page.getByRole("button", { name: "Views" }).click();
    await dialog.getByText("No view of this list is saved yet.").waitFor();
    await dialog.getByLabel("Save the filters on screen as").fill(name);
    await dialog.getByRole("checkbox", { name: /^Share it/ }).check();
    await dialog.getByRole("button", { name: "Save view" }).click();
    await dialog.getByText("shared by you").waitFor();
    await visitor.expectAccessibleAtBothWidths();
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByText("You are signed out.").waitFor();

    await visitor.signIn(viewer, "/devices");
    await page.getByRole("link", { name: "db-01" }).waitFor();
    await page.getByRole("button", { name: "Views" }).click();
    await dialog.getByText("shared", { exact: true }).waitFor();
    expect(await dialog.getByRole("button", { name: "Delete" }).count()).toBe(0);
    expect(await dialog.getByRole("checkbox", { name: /^Share it/ }).isDisabled()).toBe(true);
    await dialog.getByRole("button", { name, exact: true }).click();
    await page.waitForURL((url) => url.searchParams.get("search") === "web");
    expect(new URL(page.url()).searchParams.get("status")).toBe("offline,quarantined");
    await visitor.gone(page.getByRole("link", { name: "db-01" }));
  });

  visit("rows of a fleet are read before its parts are counted", async (visitor) => {
    const { cluster, page } = visitor;
    const { orgId, admin } = await tenantWithAdmins(cluster);
    const enroll = await enroller(cluster);
    await enroll(orgId, { hostname: "web-01" });
    await visitor.signIn(admin, "/profile", admin.recoveryCodes[0]);
    const order: string[] = [];
    const isOfDevices = (url: string) => new URL(url).pathname === "/api/v1/devices";
    const isCount = (url: string) => isOfDevices(url) && new URL(url).searchParams.has("updateState");
    page.on("request", (request) => isCount(request.url()) && order.push("count"));
    page.on("response", (reply) => isOfDevices(reply.url()) && !isCount(reply.url()) && order.push("rows"));
    await page.goto(`${visitor.base}/devices`);
    await page.getByRole("link", { name: "web-01" }).waitFor();
    await until("the counts", () => order.includes("count"));
    expect(order[0]).toBe("rows");
  });

  visit(
    "devices to approve and offline ones come before newer ones, and what changes is announced",
    async (visitor) => {
      const { cluster, page } = visitor;
      const { partnerId, orgId, admin } = await tenantWithAdmins(cluster);
      const tenant = { partnerId, orgId, siteId: await newSite(cluster, orgId) };
      const [make, enroll] = [await agentMaker(cluster), await enroller(cluster)];
      const away = await make(tenant, { hostname: "away" });
      for (const hostname of ["first", "second"]) await enroll(orgId, { hostname, hardwareId: `h-${orgId}` });
      const well = await make(tenant, { hostname: "well" });
      const beat = ({ api, deviceId }: typeof well) =>
        api.call("POST", `/agents/${deviceId}/heartbeat`, { agentVersion: "1.4.2" });
      expect((await beat(well)).status).toBe(200);
      await visitor.signIn(admin, "/profile", admin.recoveryCodes[0]);
      const shown = async () => (await page.locator('tr[data-index] td[data-as="title"]').allTextContents()).join(" ");
      // The first rows do not wait long for those before them: a busy machine may need another try.
      await until("those that need a look, first", async () => {
        await page.goto(`${visitor.base}/devices`);
        await page.getByRole("link", { name: "well" }).waitFor();
        return (await shown()) === "second first away well";
      });
      expect((await beat(away)).status).toBe(200);
      await page.getByRole("button", { name: "1 changed – show" }).click();
      await until(
        "the device that is back, among the others",
        async () => (await shown()) === "second first well away",
      );
      await page.getByRole("button", { name: "Host", exact: true }).click();
      await until("the order that was chosen", async () => (await shown()) === "away first second well");
    },
  );

  visit("a form says why it was not sent, keeps its input, and is sent once the API answers", async (visitor) => {
    const { cluster, page } = visitor;
    const { admin } = await tenantWithAdmins(cluster);
    const dialog = page.getByRole("dialog");
    await visitor.signIn(admin, "/devices?search=web", admin.recoveryCodes[0]);
    await page.getByRole("button", { name: "Views" }).click();
    await dialog.getByLabel("Save the filters on screen as").fill("Web");
    let answer: "busy" | "limited" | "broken" | "nothing" | null = "limited";
    visitor.losingTheGateway();
    await page.route("**/api/v1/saved-views", (route) => {
      if (route.request().method() !== "POST" || answer === null) return route.continue();
      if (answer === "nothing") return route.abort("connectionrefused");
      const [status, code] = { busy: [503, "unavailable"], limited: [429, "rate_limited"], broken: [500, "internal"] }[
        answer
      ];
      const json = { code, error: "Refused", requestId: "r-1" };
      return route.fulfill({ status: Number(status), headers: { "retry-after": "30" }, json });
    });
    for (const [kind, sentence] of [
      ["limited", "Too many attempts. Try again in 30 seconds."],
      ["busy", "A part of Muster does not answer at the moment."],
      ["broken", "Something went wrong on our side."],
      ["nothing", "Muster cannot be reached."],
    ] as const) {
      answer = kind;
      await dialog.getByRole("button", { name: "Save view" }).click();
      await dialog.getByText(sentence).waitFor();
      expect(await dialog.getByLabel("Save the filters on screen as").inputValue()).toBe("Web");
    }
    await visitor.expectAccessible();
    answer = null;
    await dialog.getByRole("button", { name: "Save view" }).click();
    await page.getByText("The view “Web” is saved.").waitFor();
  });

  visit("a device shows the load that its agent reported, in percent", async (visitor) => {
    const { cluster, page } = visitor;
    const { partnerId, orgId, admin } = await tenantWithAdmins(cluster);
    const siteId = await newSite(cluster, orgId);
    const agent = await (await agentMaker(cluster))({ partnerId, orgId, siteId }, { hostname: "busy" });
    const metrics = { "cpu.percent": 12.4, "memory.percent": 48, "disk.percent": 96 };
    const beat = { agentVersion: "1.4.2", metrics };
    expect((await agent.api.call("POST", `/agents/${agent.deviceId}/heartbeat`, beat)).status).toBe(200);
    await visitor.signIn(admin, `/devices/${agent.deviceId}`, admin.recoveryCodes[0]);
    await page.getByText("12 % now", { exact: true }).waitFor();
    await page.getByText("96 % now, nearly full", { exact: true }).waitFor();
    await page.getByRole("note").getByText("Its disk is full to 96 %.").waitFor();
    await page.getByRole("button", { name: "24 h" }).click();
    await page.getByRole("button", { name: "24 h", pressed: true }).waitFor();
    await visitor.expectAccessibleAtBothWidths();
  });
});
