import { randomUUID } from "node:crypto";
import { expect } from "@jest/globals";
import { openChannel, syntheticEventStore } from "@muster/agent-sim";
import { until } from "@muster/testing";
import { enrollAgent } from "../../support/enrolled-agent.ts";
import { enroller } from "../../support/enroller.ts";
import { totpCode } from "../../support/operator.ts";
import { startReceiver } from "../../support/receiver.ts";
import { enrolledAs, tenantWithAdmins } from "../../support/tenant-with-admins.ts";
import { newOrganization, newPartner, newSite, signedInAs } from "../../support/users.ts";
import { inChromium } from "./visitor.ts";

inChromium("the console's pages", (visit) => {
  visit("lead from nothing to the first device online; the second factor is made on the way", async (visitor) => {
    const { cluster, page } = visitor;
    const user = await signedInAs(cluster, "platform-admin");
    await visitor.signIn(user, "/welcome");
    // By keyboard alone.
    const press = async (name: string) => {
      await page.getByRole("button", { name }).focus();
      await page.keyboard.press("Enter");
    };
    const create = async (what: string, name: string) => {
      const [anew, field] = [
        page.getByRole("radio", { name: `A new ${what}` }),
        page.getByLabel(`Name of a new ${what}`),
      ];
      await anew.or(field).waitFor();
      // Where some exist, a new one is one of the choices.
      if (await anew.isVisible()) await anew.press("Space");
      await field.focus();
      await page.keyboard.type(name);
      await page.keyboard.press("Enter");
    };
    await create("partner", `Partner ${randomUUID()}`);
    await create("organization", "Acme");
    await create("site", "Berlin");
    await press("Create enrollment key");
    const dialog = page.getByRole("dialog", { name: "A second factor is needed" });
    await dialog.getByLabel("Your password").focus();
    await page.keyboard.type(user.password);
    await page.keyboard.press("Enter");
    const secret = ((await dialog.locator("pre").textContent()) ?? "").replaceAll(" ", "");
    await visitor.expectAccessible();
    await dialog.getByLabel("The six digits that the app shows").focus();
    await page.keyboard.type(totpCode(secret));
    await page.keyboard.press("Enter");
    await dialog.getByLabel("I have stored them").focus();
    await page.keyboard.press("Space");
    await press("Go on");
    // The refused request was sent again: no second click.
    await page.getByText("Waiting for its first heartbeat").waitFor();
    const command = (await page.locator("pre").textContent()) ?? "";
    const key = /--enrollment-key ([0-9a-f]{64})/.exec(command)?.[1] ?? "";
    const agent = await enrollAgent(cluster, key, { hostname: "sim-1" });
    await agent.heartbeat();
    await page.getByText("sim-1 is online.").waitFor();
    await visitor.expectAccessible();
    await page.getByRole("link", { name: "Open it" }).click();
    await page.getByRole("heading", { level: 1, name: /sim-1/ }).waitFor();
    await visitor.expectAccessible();
    const kept = await page.evaluate("JSON.stringify([{ ...localStorage }, { ...sessionStorage }, location.href])");
    expect(kept).not.toContain(key);
    const store = syntheticEventStore({ os: "windows", hostname: "sim-1", records: 120 });
    let later: NonNullable<ReturnType<typeof store.events>>["events"] = [];
    const growing: typeof store = {
      ...store,
      events(name, filter) {
        const found = store.events(name, filter);
        if (!found || filter.page > 1) return found;
        return { events: [...later, ...found.events].slice(0, filter.limit), total: found.total + later.length };
      },
    };
    const channel = openChannel({
      baseUrl: () => cluster.url,
      agentId: agent.id,
      token: () => agent.token,
      store: growing,
      retryMs: 200,
      onState: () => undefined,
    });
    try {
      await until("the channel", () => channel.connected);
      await page.getByRole("link", { name: "Live event logs" }).click();
      await page.getByRole("combobox", { name: "Log" }).selectOption("Microsoft-Windows-PowerShell/Operational");
      await page.getByRole("row").nth(50).waitFor();
      const [newest] = store.events("Microsoft-Windows-PowerShell/Operational", { page: 1, limit: 1 })?.events ?? [];
      if (!newest) throw new Error("the log is empty");
      later = [{ ...newest, recordId: newest.recordId + 1, message: "Came while it was looked at" }];
      await page.getByText("Came while it was looked at").waitFor();
      // Further down nothing moves: new rows are announced as text.
      await page.getByRole("button", { name: "Older" }).scrollIntoViewIfNeeded();
      later = [{ ...newest, recordId: newest.recordId + 2, message: "Came while older ones were read" }, ...later];
      await page.getByText("Paused while you read further down: 1 new event waits at the top.").waitFor();
      expect(await page.getByText("Came while older ones were read").count()).toBe(0);
      await visitor.expectAccessible();
      await page.getByRole("heading", { level: 1 }).scrollIntoViewIfNeeded();
      await page.getByText("Came while older ones were read").waitFor();
      await page.getByRole("button", { name: "Following" }).click();
      await page.getByRole("button", { name: "Paused: follow" }).waitFor();
      await page.getByRole("button", { name: "Older" }).click();
      await page.getByText(/Page 2 of/).waitFor();
      await visitor.expectAccessible();
    } finally {
      channel.stop();
    }
    for (const [path, heading] of [
      ["/releases", "Releases"],
      ["/releases/rollouts", "Rollouts"],
    ] as const) {
      await visitor.open(path, heading);
      await visitor.expectAccessible();
    }
  });

  visit("live logs of a device with one log begin with it", async (visitor) => {
    const { cluster, page } = visitor;
    const orgId = await newOrganization(cluster, await newPartner(cluster));
    const admin = await enrolledAs(cluster, "org-admin", { orgId });
    const { body } = await admin.api.call("POST", "/enrollment-keys", { orgId, name: "Key" });
    const agent = await enrollAgent(cluster, String(body.key), { hostname: "web-01" });
    await agent.heartbeat();
    const all = syntheticEventStore({ os: "linux", hostname: "web-01", records: 3 });
    const store = { ...all, logs: () => all.logs().slice(0, 1) };
    const { id, token } = agent;
    const options = { baseUrl: () => cluster.url, agentId: id, token: () => token, store, retryMs: 200 };
    const channel = openChannel({ ...options, onState: () => undefined });
    try {
      await until("the channel", () => channel.connected);
      await visitor.signIn(admin, `/devices/${id}/live`, admin.recoveryCodes[0]);
      await page.getByRole("row").nth(3).waitFor();
      expect(await page.getByRole("option", { name: "Choose one" }).count()).toBe(0);
      await visitor.expectAccessible();
    } finally {
      channel.stop();
    }
  });

  visit(
    "filter devices in the address, keep them over reload and back, and decommission by a typed name",
    async (visitor) => {
      const { cluster, page } = visitor;
      const partnerId = await newPartner(cluster);
      const orgId = await newOrganization(cluster, partnerId);
      const siteId = await newSite(cluster, orgId);
      const enroll = await enroller(cluster);
      for (const hostname of ["web-01", "web-02", "db-01"]) await enroll(orgId, { siteId, hostname });
      const admin = await signedInAs(cluster, "org-admin", { orgId });
      await visitor.signIn(admin, "/devices");
      await page.getByRole("link", { name: "db-01" }).waitFor();
      const segments = page.getByRole("group", { name: "Parts of the fleet" });
      await segments.getByRole("button", { name: "All in use 3", pressed: true }).waitFor();
      await visitor.expectAccessibleAtBothWidths();
      await segments.getByRole("button").nth(1).click();
      await page.waitForURL(/status=(online|offline)$/);
      await segments.getByRole("button", { name: "All in use" }).click();
      await visitor.expectAccessible();
      await page.keyboard.press("/");
      await page.keyboard.type("web");
      await visitor.gone(page.getByRole("link", { name: "db-01" }));
      expect(new URL(page.url()).search).toBe("?search=web");
      await page.reload();
      await page.getByRole("link", { name: "web-02" }).waitFor();
      expect(await page.getByRole("link", { name: "db-01" }).count()).toBe(0);
      await page.getByRole("link", { name: "web-01" }).click();
      await page.getByRole("heading", { level: 1, name: /web-01/ }).waitFor();
      // The neighbouring rows of the filtered list.
      await page.keyboard.press("[");
      await page.getByRole("heading", { level: 1, name: /web-02/ }).waitFor();
      expect(await page.getByRole("link", { name: /^Previous/ }).count()).toBe(0);
      await visitor.expectAccessible();
      await page.getByRole("tab", { name: "Events" }).click();
      await page.getByText("Its agent has sent no events yet.").waitFor();
      await visitor.expectAccessible();
      await page.keyboard.press("]");
      await page.getByRole("heading", { level: 1, name: /web-01/ }).waitFor();
      await page.keyboard.press("Control+k");
      await page.getByRole("option", { name: /^web-02/ }).waitFor();
      await visitor.expectAccessible();
      await page.keyboard.press("Escape");
      for (let back = 0; back < 3; back++) await page.goBack();
      await page.getByRole("link", { name: "web-02" }).waitFor();
      expect(new URL(page.url()).search).toBe("?search=web");
      await page.getByRole("searchbox", { name: "Name, serial, address, customer" }).fill("nothing like it");
      await page.getByText("Nothing matches these filters.").waitFor();
      await visitor.expectAccessible();
      await page.getByRole("button", { name: /^Without search/ }).click();
      await page.getByRole("link", { name: "web-01" }).click();
      await page.getByRole("button", { name: "More for web-01" }).click();
      await visitor.expectAccessible();
      await page.getByRole("menuitem", { name: "Decommission …" }).click();
      const dialog = page.getByRole("dialog");
      await visitor.expectAccessible();
      expect(await dialog.getByRole("button", { name: "Decommission" }).isDisabled()).toBe(true);
      await dialog.getByRole("textbox").fill("web-01");
      await dialog.getByRole("button", { name: "Decommission" }).click();
      await page.getByText("The device is decommissioned.").waitFor();
      await page.getByRole("heading", { level: 1, name: /decommissioned/ }).waitFor();
    },
  );

  visit("sort devices by a title, move several at once, and name the one that was refused", async (visitor) => {
    const { cluster, page } = visitor;
    const orgId = await newOrganization(cluster, await newPartner(cluster));
    const siteId = await newSite(cluster, orgId, { name: "Berlin" });
    const enroll = await enroller(cluster);
    const ids: Record<string, string> = {};
    for (const hostname of ["web-02", "web-01", "db-01"]) ids[hostname] = await enroll(orgId, { hostname });
    const admin = await signedInAs(cluster, "org-admin", { orgId });
    await visitor.signIn(admin, "/devices");
    const rowAt = (index: number, name: string) =>
      page.locator(`tr[data-index="${index}"]`).getByRole("link", { name }).waitFor();
    const sorted = async (direction: string, names: string[]) => {
      await page.getByRole("button", { name: "Host", exact: true }).click();
      await page.locator(`th[aria-sort="${direction}"]`, { hasText: "Host" }).waitFor();
      for (const [index, name] of names.entries()) await rowAt(index, name);
    };
    await rowAt(0, "db-01");
    await sorted("ascending", ["db-01", "web-01", "web-02"]);
    await sorted("descending", ["web-02", "web-01", "db-01"]);
    expect(new URL(page.url()).search).toBe("?sort=-hostname");
    await visitor.expectAccessible();
    // Another user has already changed one of them.
    expect((await admin.api.call("DELETE", `/devices/${ids["web-01"]}`)).status).toBe(200);
    await page.getByRole("checkbox", { name: "Select all rows that are loaded" }).check();
    await page.getByRole("button", { name: "Move to site …" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("To the site").selectOption({ label: "Berlin" });
    await dialog.getByRole("button", { name: "Move", exact: true }).click();
    await dialog.getByText("2 of 3 done.").waitFor();
    await dialog.getByRole("row", { name: /^web-01 .*decommissioned/ }).waitFor();
    await visitor.expectAccessible();
    await dialog.getByRole("button", { name: "Close", exact: true }).click();
    await dialog.waitFor({ state: "detached" });
    const listed = await admin.api.call("GET", `/devices?siteId=${siteId}&sort=hostname`);
    const names = (listed.body.data as { hostname: string }[]).map(({ hostname }) => hostname);
    expect(names).toEqual(["db-01", "web-02"]);
  });

  visit("show who changed what, verify the chain, and report an unknown id", async (visitor) => {
    const { cluster, page } = visitor;
    const { orgId, admin } = await tenantWithAdmins(cluster);
    const site = await admin.api.call("POST", "/orgs/sites", { orgId, name: "Before" });
    await admin.api.call("PATCH", `/orgs/sites/${site.body.id}`, { name: "After" });
    const rowId = await until("the audit row", async () => {
      const { body } = await admin.api.call("GET", "/audit-logs/logs?action=site.update");
      return (body.data?.[0] as { id: string } | undefined)?.id ?? null;
    });
    await visitor.signIn(admin, "/audit?action=site.update", admin.recoveryCodes[0]);
    await page.getByRole("link", { name: "Site changed" }).click();
    await page.getByRole("heading", { level: 1, name: /Site changed/ }).waitFor();
    expect(page.url()).toContain(`/audit/${rowId}`);
    const change = page.getByRole("row", { name: /^name/ });
    expect(await change.getByRole("cell").allTextContents()).toEqual(["Before", "After"]);
    const raw = page.getByRole("region", { name: "Details of the row" });
    expect(await raw.isVisible()).toBe(false);
    await page.getByText("Details as JSON").click();
    await raw.waitFor();
    await page.getByRole("button", { name: "Verify from this row on" }).click();
    await page.getByText(/^Verified: /).waitFor();
    await visitor.expectAccessibleAtBothWidths();
    await visitor.open(`/audit/${randomUUID()}`, "Audit row");
    await page.getByText("This does not exist, or is not yours to see.").waitFor();
    await visitor.open("/audit/x/y", "No such page");
  });

  visit(
    "lead from an audit row to the record, its history, and what the same person did around it",
    async (visitor) => {
      const { cluster, page } = visitor;
      const { orgId, admin } = await tenantWithAdmins(cluster);
      const site = await admin.api.call("POST", "/orgs/sites", { orgId, name: "Lisbon" });
      await admin.api.call("PATCH", `/orgs/sites/${site.body.id}`, { timezone: "Europe/Lisbon" });
      await admin.api.call("POST", "/device-groups", { orgId, name: "Kiosks" });
      const rowId = await until("the audit rows", async () => {
        const { body } = await admin.api.call(
          "GET",
          "/audit-logs/logs?actions=site.create,site.update,device_group.create",
        );
        const rows = (body.data ?? []) as { id: string; action: string }[];
        return rows.length === 3 ? rows.find(({ action }) => action === "site.update")?.id : null;
      });
      const card = (title: string | RegExp) =>
        page.locator("section", { has: page.getByRole("heading", { name: title, level: 2 }) });
      const history = card("History of Lisbon");
      const around = card("What else Test org-admin did then");
      await visitor.signIn(admin, `/audit/${rowId}`, admin.recoveryCodes[0]);
      await history.locator("[aria-current]", { hasText: "Site changed by Test org-admin" }).waitFor();
      await around.locator("[aria-current]", { hasText: "this entry" }).waitFor();
      await around.getByRole("link", { name: /^Device group created Kiosks/ }).waitFor();
      expect(await around.getByRole("link", { name: /^Signed in/ }).count()).toBe(0);
      await visitor.expectAccessibleAtBothWidths();
      await page.getByRole("link", { name: "Lisbon", exact: true }).waitFor();
      await visitor.follow(history.getByRole("link", { name: /^Site created/ }));
      await history.getByRole("link", { name: /^Site changed by Test org-admin/ }).waitFor();
      await page.getByRole("link", { name: "All that was done in it" }).click();
      await page.getByRole("button", { name: /^Session: / }).waitFor();
      await page.getByRole("link", { name: "Device group created" }).waitFor();
      // The entry stands without them.
      visitor.losingTheGateway();
      await page.route("**/api/v1/audit-logs/logs?**", (route) => route.abort("connectionrefused"));
      await visitor.open(`/audit/${rowId}`, /Site changed/);
      await history.getByText("Muster cannot be reached.").waitFor();
      await page.getByRole("row", { name: /Europe\/Lisbon/ }).waitFor();
    },
  );

  visit("make a webhook whose secret is shown once, test it, and show its attempts", async (visitor) => {
    const { cluster, page } = visitor;
    const receiver = await startReceiver(cluster);
    try {
      const orgId = await newOrganization(cluster, await newPartner(cluster));
      const admin = await signedInAs(cluster, "org-admin", { orgId });
      await visitor.signIn(admin, "/webhooks");
      await page.getByText("No webhook yet.").waitFor();
      await visitor.expectAccessible();
      await page.getByRole("button", { name: "New webhook" }).first().click();
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("Name").fill("Tickets");
      await dialog.getByLabel("Address").fill("https://10.0.0.1/hook");
      await dialog.getByRole("button", { name: "Create" }).click();
      await dialog.getByText(/Invalid webhook URL/).waitFor();
      await dialog.getByLabel("Address").fill(receiver.url);
      await dialog.getByRole("button", { name: "Create" }).click();
      const secret = (await dialog.locator("pre").textContent()) ?? "";
      expect(secret).toMatch(/^whsec_/);
      await page.keyboard.press("Escape");
      expect(await dialog.getByRole("button", { name: "Close" }).isDisabled()).toBe(true);
      await dialog.getByLabel("I have stored it").check();
      await dialog.getByRole("button", { name: "Close" }).click();
      await page.getByRole("link", { name: "Tickets" }).click();
      await page.getByRole("button", { name: "Send a test" }).click();
      await page.getByText("A test event is on its way.").waitFor();
      await page.getByRole("link", { name: "webhook.test" }).click();
      await page.getByRole("heading", { level: 1, name: /webhook\.test/ }).waitFor();
      await page.getByRole("heading", { name: "Attempts" }).waitFor();
      await page.getByRole("cell", { name: "200", exact: true }).waitFor();
      await visitor.expectAccessible();
      expect(await page.content()).not.toContain(secret);
    } finally {
      await receiver.close();
    }
  });

  visit(
    "make, rotate and revoke an API key after a second factor; the secret is nowhere afterwards",
    async (visitor) => {
      const { cluster, page } = visitor;
      const orgId = await newOrganization(cluster, await newPartner(cluster));
      const admin = await enrolledAs(cluster, "org-admin", { orgId });
      await visitor.signIn(admin, "/keys", admin.recoveryCodes[0]);
      await page.getByRole("button", { name: "New API key" }).first().click();
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("Name").fill("Inventory");
      await dialog.getByLabel("devices:read").check();
      await visitor.expectAccessible();
      await dialog.getByRole("button", { name: "Create" }).click();
      const first = (await dialog.locator("pre").textContent()) ?? "";
      await dialog.getByLabel("I have stored it").check();
      await dialog.getByRole("button", { name: "Close" }).click();
      const answer = async (key: string) =>
        (await fetch(`${cluster.url}/api/v1/devices`, { headers: { "x-api-key": key } })).status;
      expect(await answer(first)).toBe(200);
      const choose = async (operation: string) => {
        await page.getByRole("button", { name: "More for Inventory" }).click();
        await page.getByRole("menuitem", { name: operation }).click();
      };
      await choose("Rotate …");
      await dialog.getByRole("button", { name: "Rotate" }).click();
      await page.getByRole("dialog", { name: "The new key" }).waitFor();
      const second = (await dialog.locator("pre").textContent()) ?? "";
      expect([second === first, await answer(first), await answer(second)]).toEqual([false, 401, 200]);
      await dialog.getByLabel("I have stored it").check();
      await dialog.getByRole("button", { name: "Close" }).click();
      await choose("Revoke …");
      await dialog.getByRole("textbox").fill("Inventory");
      await dialog.getByRole("button", { name: "Revoke" }).click();
      await page.getByRole("cell", { name: "revoked" }).waitFor();
      expect(await answer(second)).toBe(401);
      const kept = `${await page.content()}${await page.evaluate("JSON.stringify([{ ...localStorage }, { ...sessionStorage }])")}`;
      for (const secret of [first, second]) expect(kept).not.toContain(secret);
    },
  );

  visit("end everywhere when the user is disabled, and share one session over many tabs", async (visitor) => {
    const { cluster, page, context, base } = visitor;
    const orgId = await newOrganization(cluster, await newPartner(cluster));
    const admin = await enrolledAs(cluster, "org-admin", { orgId });
    const viewer = await signedInAs(cluster, "org-viewer", { orgId });
    await visitor.signIn(viewer, "/devices");
    await page.getByText("No device has enrolled yet.").waitFor();
    // The navigation offers no refused page: each of its pages loads without a 403.
    const refused: string[] = [];
    context.on("response", (response) => {
      if (response.status() === 403) refused.push(response.url());
    });
    const navigation = page.getByRole("navigation", { name: "Main" });
    const entries = await navigation.getByRole("link").allTextContents();
    expect(entries).toContain("Devices");
    for (const entry of entries) {
      await visitor.follow(navigation.getByRole("link", { name: entry }));
      const enabled = page.getByRole("button", { name: /^(New|Invite)/, disabled: false });
      expect({ entry, enabled: await enabled.allTextContents() }).toEqual({ entry, enabled: [] });
    }
    expect(refused).toEqual([]);
    let refreshes = 0;
    context.on("request", (request) => {
      if (request.url().endsWith("/auth/refresh")) refreshes += 1;
    });
    const tabs = await Promise.all(
      Array.from({ length: 5 }, async () => {
        const tab = await context.newPage();
        await tab.goto(`${base}/devices`);
        await tab.getByRole("button", { name: "Sign out" }).waitFor();
        return tab;
      }),
    );
    // New tabs ask the one that is open.
    expect(refreshes).toBe(0);
    for (let reload = 0; reload < 3; reload++) await page.reload();
    await page.getByRole("button", { name: "Sign out" }).waitFor();
    const disabled = await admin.api.call("POST", `/users/${viewer.id}/disable`);
    expect(disabled.status).toBe(200);
    // Without user input the stream of changes ends with the session, and the tab that held it notifies the others.
    for (const tab of [page, ...tabs]) {
      const ended = tab.getByRole("dialog", { name: "Your session has ended" });
      await ended.or(tab.getByText("You are signed out.")).waitFor();
    }
  });

  visit("invite a person, and go to a device by its pasted id", async (visitor) => {
    const { cluster, page } = visitor;
    const orgId = await newOrganization(cluster, await newPartner(cluster));
    const admin = await enrolledAs(cluster, "org-admin", { orgId });
    const deviceId = await (await enroller(cluster))(orgId, { hostname: "by-id" });
    const viewer = await signedInAs(cluster, "org-viewer", { orgId });
    await visitor.signIn(admin, "/people", admin.recoveryCodes[0]);
    await page.getByRole("button", { name: "Invite" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("E-mail").fill(`new-${randomUUID()}@example.com`);
    await dialog.getByLabel("Name").fill("Grace Hopper");
    await dialog.getByLabel("Role").selectOption({ index: 0 });
    await dialog.getByRole("button", { name: "Invite" }).click();
    await page.getByRole("dialog", { name: "Invited" }).getByRole("button", { name: "Close" }).click();
    await page.getByRole("link", { name: "Grace Hopper", exact: true }).waitFor();
    await page.getByRole("button", { name: "Invite again … Grace Hopper" }).waitFor();
    const needing = page.getByRole("row", { name: /^Test org-viewer/ });
    await needing.getByText("no second factor").waitFor();
    await visitor.expectAccessible();
    const gap = page.getByRole("note").filter({ hasText: "1 person has no second factor." });
    await gap.getByRole("link", { name: "See them" }).click();
    await visitor.gone(page.getByRole("row", { name: /^Test org-admin/ }));
    await needing.waitFor();
    await page.goBack();
    await gap.getByRole("button", { name: "Require factor" }).click();
    await page.getByRole("heading", { level: 1, name: "Sign-in policy" }).waitFor();
    const save = page.getByRole("button", { name: "Save" });
    expect(await save.getAttribute("data-weight")).toBe(null);
    await page.getByLabel("Require a second factor").check();
    expect(await save.getAttribute("data-weight")).toBe("primary");
    await page.getByLabel("Require a second factor").uncheck();
    expect(await save.getAttribute("data-weight")).toBe(null);
    await page.keyboard.press("Control+k");
    const palette = page.getByRole("dialog", { name: "Search or run" }).getByRole("combobox");
    await palette.fill(deviceId);
    await page.getByRole("option", { name: /^by-id/ }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: /by-id/ }).waitFor();
    // What can be done with a record is found beside it, and asks as it does on the record's page.
    await page.keyboard.press("Control+k");
    await palette.fill("disable test org-viewer");
    await page.getByRole("option", { name: "Disable Test org-viewer …" }).waitFor();
    await visitor.expectAccessible();
    await page.keyboard.press("Enter");
    await dialog.getByRole("button", { name: "Disable", exact: true }).click();
    await page.getByText("Every session of the person has ended.").waitFor();
    expect((await admin.api.call("GET", `/users/${viewer.id}`)).body.status).toBe("disabled");
    const expiresAt = new Date(Date.now() + 5 * 86_400_000).toISOString();
    await admin.api.call("POST", "/api-keys", { orgId, name: "Ends soon", scopes: ["devices:read"], expiresAt });
    await visitor.open("/", /^Good /);
    await page.getByRole("list", { name: "What needs attention" }).locator("b", { hasText: "“Ends soon”" }).waitFor();
    await page.getByText("This chain was not verified in the last 30 days.").waitFor();
    for (const [path, heading] of [
      ["/", /^Good /],
      ["/orgs", "Organizations"],
      ["/profile", "Profile"],
      ["/keys/enrollment", "Enrollment keys"],
    ] as const) {
      await visitor.open(path, heading);
      await visitor.expectAccessible();
    }
  });
});
