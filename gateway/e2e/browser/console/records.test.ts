import { randomUUID } from "node:crypto";
import { expect } from "@jest/globals";
import { until } from "@muster/testing";
import { agentMaker } from "../../support/agent-maker.ts";
import type { Cluster } from "../../support/cluster.ts";
import { enroller } from "../../support/enroller.ts";
import { asDatabaseOwner } from "../../support/owner-rows.ts";
import { startReceiver } from "../../support/receiver.ts";
import { newRollout } from "../../support/releases.ts";
import { enrolledAs, tenantWithAdmins } from "../../support/tenant-with-admins.ts";
import { newOrganization, newPartner, newSite, operator, signedInAs } from "../../support/users.ts";
import { inChromium, type Visitor } from "./visitor.ts";

/** A delivery whose retries were exhausted, as after half a minute of retries. */
async function exhausted(cluster: Cluster, deliveryId: string): Promise<void> {
  const [letter] = await asDatabaseOwner(
    cluster,
    `WITH gone AS (DELETE FROM webhook_dispatcher.webhook_queue WHERE delivery_id = $1), failed AS (
       UPDATE webhook_dispatcher.webhook_deliveries SET status = 'failed', attempt = 6, response_status = 503,
         finished_at = now(), next_attempt_at = NULL WHERE id = $1 RETURNING *)
     INSERT INTO webhook_dispatcher.webhook_dead_letters
       (id, org_id, partner_id, webhook_id, delivery_id, delivery_created_at, event, event_id, reason, attempts, created_at)
     SELECT gen_random_uuid(), org_id, partner_id, webhook_id, id, created_at, event, event_id,
            'The receiver answered 503', 6, now() FROM failed RETURNING id`,
    [deliveryId],
  );
  if (!letter) throw new Error("the delivery was not there");
}

/** Asks for the answer of a dialog's button. */
const confirm = ({ page }: Visitor, name: string) =>
  page.getByRole("dialog").getByRole("button", { name, exact: true }).click();

inChromium("records in the console", (visit) => {
  visit(
    "a quarantined device is approved; an offline one shows its stored logs and that it is offline",
    async (visitor) => {
      const { cluster, page } = visitor;
      const partnerId = await newPartner(cluster);
      const orgId = await newOrganization(cluster, partnerId);
      const siteId = await newSite(cluster, orgId);
      const agent = await (await agentMaker(cluster))({ partnerId, orgId, siteId }, { hostname: "first" });
      const log = { timestamp: "2026-01-02T03:04:05.678Z", component: "updater" };
      const sent = await agent.api.call("POST", `/agents/${agent.deviceId}/logs`, {
        logs: [
          { ...log, level: "error", message: "the disk is full" },
          { ...log, level: "info", message: "checked" },
        ],
      });
      expect(sent.status).toBe(201);
      const event = { timestamp: log.timestamp, level: "critical", category: "hardware", source: "Disk", eventId: "7" };
      const events = [{ ...event, message: "the disk is gone" }];
      await agent.api.call("PUT", `/agents/${agent.deviceId}/eventlogs`, { events });
      const enroll = await enroller(cluster);
      await enroll(orgId, { siteId, hostname: "original", hardwareId: "board-1" });
      const cloneId = await enroll(orgId, { siteId, hostname: "clone", hardwareId: "board-1" });
      const admin = await signedInAs(cluster, "org-admin", { orgId });
      await visitor.signIn(admin, `/devices/${cloneId}`);
      await page.getByRole("heading", { level: 1, name: /clone/ }).waitFor();
      await page.getByText("It waits for approval.").waitFor();
      await visitor.expectAccessible();
      await page.getByRole("button", { name: "Approve …" }).click();
      await confirm(visitor, "Approve");
      await page.getByText("The device is trusted.").waitFor();
      await page.getByText("It waits for approval.").waitFor({ state: "detached" });

      await asDatabaseOwner(cluster, "UPDATE tenancy.devices SET status = 'offline' WHERE id = $1", [agent.deviceId]);
      await visitor.open(`/devices/${agent.deviceId}`, /first/);
      await page.getByRole("tab", { name: "Overview" }).focus();
      await page.keyboard.press("ArrowRight");
      await page.keyboard.press("Enter");
      const messages = page.getByRole("cell", { name: /the disk is full|checked/ });
      await page.getByRole("cell", { name: "checked", exact: true }).waitFor();
      expect(await messages.count()).toBe(2);
      await page.getByRole("combobox", { name: "Level", exact: true }).selectOption("error");
      await visitor.gone(page.getByRole("cell", { name: "checked", exact: true }));
      expect(await messages.count()).toBe(1);
      await page.getByRole("searchbox", { name: "Text of a message" }).fill("no such words");
      await page.keyboard.press("Enter");
      await page.getByText("No message matches.").waitFor();
      await visitor.expectAccessible();
      await page.getByRole("tab", { name: "Events" }).click();
      await page.getByRole("cell", { name: "the disk is gone" }).waitFor();
      await page.getByRole("combobox", { name: "Level of events" }).selectOption("info");
      await page.getByText("No event matches.").waitFor();
      await visitor.expectAccessible();
      await visitor.follow(page.getByRole("link", { name: "Live event logs" }));
      await page.getByText("The device is offline.").waitFor();
      await visitor.expectAccessible();
    },
  );

  visit(
    "a failed delivery is sent again by hand, and so is a dead letter; lists are narrowed by answer",
    async (visitor) => {
      const { cluster, page } = visitor;
      const receiver = await startReceiver(cluster);
      try {
        const { orgId, admin, partnerAdmin } = await tenantWithAdmins(cluster);
        // Not what the tenant's own making reports: two deliveries are counted.
        const wanted = { orgId, name: "Tickets", url: receiver.url, events: ["device.offline"] };
        const { body: webhook } = await admin.api.call("POST", "/webhooks", wanted);
        // Paused, so that nothing is sent until this test activates it.
        await admin.api.call("PATCH", `/webhooks/${webhook.id}`, { status: "paused" });
        const tests = await Promise.all([1, 2].map(() => admin.api.call("POST", `/webhooks/${webhook.id}/test`)));
        for (const { body } of tests) await exhausted(cluster, (body.delivery as { id: string }).id);
        await admin.api.call("PATCH", `/webhooks/${webhook.id}`, { status: "active" });

        await visitor.signIn(partnerAdmin, "/webhooks", partnerAdmin.recoveryCodes[0]);
        // Webhooks of all organizations, each with its organization's name.
        await page.getByRole("columnheader", { name: "Organization" }).waitFor();
        await visitor.follow(page.getByRole("link", { name: "Tickets" }));
        await page.getByRole("img", { name: "2 deliveries by outcome" }).waitFor();
        await page.getByLabel("Answer").selectOption("2xx");
        await page.getByText("No delivery matches.").waitFor();
        await visitor.expectAccessible();
        await page.getByLabel("Answer").selectOption("5xx");
        await page.getByRole("link", { name: "webhook.test" }).first().waitFor();
        await page.getByLabel("Answer").selectOption("");
        await page.getByRole("combobox", { name: "Example of" }).selectOption("device.offline");
        await page.getByText("A device has missed several heartbeats.").waitFor();
        await page
          .getByRole("region", { name: "Example of device.offline" })
          .getByText('"hostname": "web-01"')
          .waitFor();

        await page.getByRole("button", { name: "Deliver again" }).first().click();
        await page.getByText("Queued again.").waitFor();
        await page.getByText("queued again", { exact: true }).waitFor();
        await until("the first delivery", () => receiver.received.length === 1);
        await visitor.expectAccessible();
        const other = (await admin.api.call("GET", "/webhooks/dead-letters")).body.data as {
          deliveryId: string;
          requeuedAt: string | null;
        }[];
        const waiting = other.find(({ requeuedAt }) => requeuedAt === null);
        await visitor.open(`/webhooks/${webhook.id}/deliveries/${waiting?.deliveryId}`, /webhook\.test/);
        await page.getByRole("button", { name: "Deliver again" }).click();
        await page.getByText("Queued again.").waitFor();
        await until("the second delivery", () => receiver.received.length === 2);
      } finally {
        await receiver.close();
      }
    },
  );

  visit("a halted rollout shows the reason, and continues without counting its earlier failures", async (visitor) => {
    const { cluster, page } = visitor;
    const rollout = await newRollout(cluster);
    const why = "3 of 10 devices failed: checksum_mismatch";
    await asDatabaseOwner(
      cluster,
      "UPDATE agent_release.rollout SET state = 'halted', failed = 3, reason = $2 WHERE id = $1",
      [rollout.id, why],
    );
    const admin = await enrolledAs(cluster, "platform-admin", {});
    await visitor.signIn(admin, `/releases/rollouts/${rollout.id}`, admin.recoveryCodes[0]);
    await page.getByText(why).waitFor();
    expect(await page.getByRole("button", { name: "Pause …" }).count()).toBe(0);
    await visitor.expectAccessible();
    await page.getByRole("button", { name: "Resume …" }).click();
    await page.getByRole("checkbox", { name: /^Accept the 3 failures so far/, checked: true }).waitFor();
    await confirm(visitor, "Resume");
    await page.getByText("The rollout continues.").waitFor();
    await page.getByText("3 earlier failures no longer count.").waitFor();
    await page.getByText(why).waitFor({ state: "detached" });
    const root = await operator(cluster);
    expect((await root.call("POST", `/agent-versions/rollouts/${rollout.id}/cancel`)).status).toBe(200);
  });

  visit("a list has what fails first and says why; a release is as its halted rollout is", async (visitor) => {
    const { cluster, page } = visitor;
    const receiver = await startReceiver(cluster);
    try {
      const orgId = await newOrganization(cluster, await newPartner(cluster));
      const root = await enrolledAs(cluster, "platform-admin", {});
      const create = async (name: string) => {
        const body = { orgId, name, url: receiver.url, events: ["*"] };
        return String((await root.api.call("POST", "/webhooks", body)).body.id);
      };
      const [broken] = [await create("Broken"), await create("Fine")];
      receiver.answer((_received, response) => void response.writeHead(503).end("come later"));
      await root.api.call("POST", `/webhooks/${broken}/test`);
      await until("the failed attempt", async () => {
        const { body } = await root.api.call("GET", `/webhooks/${broken}/deliveries?answer=5xx`);
        return (body.data as unknown[] | undefined)?.length === 1;
      });
      const failing = "UPDATE webhook_dispatcher.webhook_endpoint_state SET failed_attempts = 40 WHERE webhook_id = $1";
      await asDatabaseOwner(cluster, failing, [broken]);
      const rollout = await newRollout(cluster);
      const halted = "UPDATE agent_release.rollout SET state = 'halted', failed = 3, reason = $2 WHERE id = $1";
      await asDatabaseOwner(cluster, halted, [rollout.id, "3 failures, the last: rolled_back"]);
      await visitor.signIn(root, `/webhooks?orgId=${orgId}`, root.recoveryCodes[0]);
      await page.getByRole("cell", { name: /It answers 503\. \d+ attempts in a row failed/ }).waitFor();
      const names = await page.getByRole("table").getByRole("link").allTextContents();
      expect(names).toEqual(["Broken", "Fine"]);
      // The states of all rows and the title of their column have one left edge.
      const edges = await page.evaluate(`
        [...document.querySelectorAll("th[data-column=status] > span, td[data-as=state] > [data-tone]")].map(
          (each) => Math.round(each.getBoundingClientRect().left))`);
      expect(edges).toEqual(Array(3).fill((edges as number[])[0]));
      await page.getByRole("button", { name: "Review Broken" }).waitFor();
      await visitor.expectAccessibleAtBothWidths();
      await visitor.open("/releases", "Releases");
      await page.getByRole("row", { name: new RegExp(`${rollout.version} .*halted`) }).waitFor();
      await page.getByRole("button", { name: new RegExp(`^Review .*${rollout.version}$`) }).click();
      await page.waitForURL(`**/releases/rollouts/${rollout.id}*`);
      await visitor.open("/releases/rollouts?state=halted", "Rollouts");
      const cause = "3 failures. The last: The new version did not stay up, and the one before was restored.";
      await page.getByRole("row", { name: new RegExp(`${rollout.version} .*${cause}`) }).waitFor();
      await page.getByRole("button", { name: new RegExp(`^Review .*${rollout.version}$`) }).waitFor();
      await visitor.open("/releases/rollouts", "Rollouts");
      // The guard of the version, to which nobody updates, is folded.
      const guard = page.getByRole("row", { name: new RegExp(`${rollout.version} .*guard`, "i") });
      const fold = page.getByRole("button", { name: /^Guards of versions that nobody updates to yet/ });
      // It is the end of the list, below the rollouts of other suites.
      await page.getByRole("table").hover();
      await until("the folded guards", async () => {
        await page.mouse.wheel(0, 100_000);
        return await fold.isVisible();
      });
      expect([await fold.getAttribute("aria-expanded"), await guard.count()]).toEqual(["false", 0]);
      await fold.click();
      await guard.waitFor();
      await fold.click();
      await visitor.gone(guard);
      expect((await root.api.call("POST", `/agent-versions/rollouts/${rollout.id}/cancel`)).status).toBe(200);
    } finally {
      await receiver.close();
    }
  });

  visit("every link of every page leads to a page that shows something", async (visitor) => {
    const { cluster, page, base } = visitor;
    const { orgId, admin, partnerAdmin } = await tenantWithAdmins(cluster);
    const siteId = await newSite(cluster, orgId);
    const deviceId = await (await enroller(cluster))(orgId, { siteId, hostname: "linked" });
    const create = async (path: string, body: object) => {
      const reply = await admin.api.call("POST", path, { orgId, ...body });
      expect({ path, status: reply.status }).toEqual({ path, status: 201 });
      return String(reply.body.id);
    };
    const groupId = await create("/device-groups", { name: "Canaries" });
    await admin.api.call("POST", `/device-groups/${groupId}/devices`, { deviceIds: [deviceId] });
    await create("/api-keys", { name: "Inventory", scopes: ["devices:read"] });
    await create("/service-principals", { name: "Backup", scopes: ["devices:read"] });
    await create("/enrollment-keys", { name: "Fleet" });
    await create("/roles", { name: "Night shift", permissions: ["devices:read"] });
    await create("/sso/providers", { name: "Northwind ID", type: "oidc" });
    const receiver = await startReceiver(cluster);
    try {
      const webhookId = await create("/webhooks", { name: "Tickets", url: receiver.url, events: ["*"] });
      await admin.api.call("POST", `/webhooks/${webhookId}/test`);
      await visitor.signIn(partnerAdmin, "/", partnerAdmin.recoveryCodes[0]);
      // One page of each kind, however many records there are of it.
      const kindOf = (path: string) => path.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, ":id");
      const seen = new Map<string, string>([["/", "/"]]);
      for (const path of seen.values()) {
        await visitor.go(path);
        const heading = page.getByRole("heading", { level: 1 });
        const alerts = (await page.getByRole("alert").allTextContents()).filter((text) => text !== "");
        expect({ path, heading: await heading.textContent(), alerts }).toEqual({
          path,
          heading: expect.not.stringMatching(/^(No such page|)$/),
          alerts: [],
        });
        const links = await page.locator("a[href]").evaluateAll((all) => all.map((each) => each.getAttribute("href")));
        for (const link of links) {
          const { origin, pathname } = new URL(link ?? "", `${base}${path}`);
          // Docs and files of the API are no pages of the console.
          if (origin !== base || /^\/(docs|api)/.test(pathname) || seen.has(kindOf(pathname))) continue;
          seen.set(kindOf(pathname), pathname);
        }
      }
      const kinds = [...seen.keys()].sort();
      expect(kinds).toEqual(
        expect.arrayContaining([
          "/audit/:id",
          "/devices/:id",
          "/devices/:id/live",
          "/keys/principals",
          "/orgs/:id",
          "/people/:id",
          "/roles/:id",
          "/settings/sso/:id",
          "/sites/:id",
          "/webhooks/:id",
          "/webhooks/:id/deliveries/:id",
        ]),
      );
      expect(kinds.length).toBeGreaterThan(25);
      expect(seen.get("/devices/:id")).toBe(`/devices/${deviceId}`);
    } finally {
      await receiver.close();
    }
  });

  visit(
    "times are shown in the partner's zone once a person has chosen it, and in the browser's again",
    async (visitor) => {
      const { page } = visitor;
      const { partnerAdmin } = await tenantWithAdmins(visitor.cluster);
      const change = { settings: { timezone: "Pacific/Kiritimati" } };
      expect((await partnerAdmin.api.call("PATCH", "/orgs/partners/me", change)).status).toBe(200);
      await visitor.signIn(partnerAdmin, "/profile", partnerAdmin.recoveryCodes[0]);
      const zone = page.getByRole("combobox", { name: "Times are shown in" });
      // A row of the audit trail: the instant, and how it is written.
      const newest = async () => {
        await visitor.open("/audit", "Audit");
        const time = page.locator("table time").first();
        await time.waitFor();
        const [at, exact] = [await time.getAttribute("datetime"), await time.getAttribute("data-tip")];
        return { at: at ?? "", exact: exact ?? "", text: (await time.textContent()) ?? "" };
      };
      await zone.selectOption({ label: "your partner's zone (Pacific/Kiritimati)" });
      const { at, exact, text } = await newest();
      const written = (timeZone?: string) =>
        page.evaluate(
          ([instant, named]) =>
            new Intl.DateTimeFormat(undefined, {
              dateStyle: "medium",
              timeStyle: "medium",
              ...(named === undefined ? {} : { timeZone: named }),
            }).format(new Date(instant ?? "")),
          [at, timeZone],
        );
      expect(exact).toBe(`${await written("Pacific/Kiritimati")} Kiritimati · ${at}`);
      expect(text).toMatch(/ Kiritimati$/);
      await visitor.open("/profile", "Profile");
      await zone.selectOption("browser");
      expect((await newest()).text).not.toContain("Kiritimati");
    },
  );

  visit("an address that leads nowhere says so, and a filter that no list has is named", async (visitor) => {
    const { cluster, page } = visitor;
    const orgId = await newOrganization(cluster, await newPartner(cluster));
    await (await enroller(cluster))(orgId, { hostname: "till-1" });
    await visitor.signIn(await signedInAs(cluster, "org-admin", { orgId }), "/devices?colour=red");
    await page.getByText("This list has no filter colour: its rows are not narrowed by it.").waitFor();
    await page.getByRole("link", { name: "till-1" }).waitFor();
    await visitor.expectAccessible();
    await page.getByRole("button", { name: "Take it out of the address" }).click();
    await page.waitForURL((url) => url.search === "");
    // A path of the API that looks like a record's.
    await visitor.open("/webhooks/dead-letters", "No such page");
    await visitor.open(`/devices/${randomUUID()}`, "Device");
    await page.getByText("This does not exist, or is not yours to see.").waitFor();
    // Nothing answers for a while: the page recovers without a click.
    visitor.losingTheGateway();
    let isAway = true;
    await page.route("**/api/v1/devices?**", (route) => (isAway ? route.abort("connectionrefused") : route.continue()));
    await visitor.open("/devices", "Devices");
    await page.getByText("Muster cannot be reached.").waitFor();
    isAway = false;
    await page.getByRole("link", { name: "till-1" }).waitFor();
  });

  visit("a phone scrolls down alone, and has the navigation below; the zone is chosen in the bar", async (visitor) => {
    const { cluster, page } = visitor;
    const orgId = await newOrganization(cluster, await newPartner(cluster));
    const siteId = await newSite(cluster, orgId);
    await (await enroller(cluster))(orgId, { siteId, hostname: `till-${"x".repeat(200)}` });
    const admin = await enrolledAs(cluster, "org-admin", { orgId });
    await admin.api.call("POST", "/api-keys", { orgId, name: "A".repeat(255), scopes: ["devices:read"] });
    await visitor.signIn(admin, "/audit", admin.recoveryCodes[0]);
    await page.getByRole("button", { name: /^Times in / }).click();
    await page.getByRole("combobox", { name: "Times are shown in" }).selectOption("UTC");
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Times in UTC" }).waitFor();
    await page.locator("table time", { hasText: /UTC$/ }).first().waitFor();
    await page.setViewportSize({ width: 320, height: 640 });
    const below = page.getByRole("navigation", { name: "Below" });
    for (const path of ["/", "/devices", "/audit", "/people", "/keys", "/webhooks", "/sites", "/roles", "/profile"]) {
      await page.goto(`${visitor.base}${path}`);
      await page.getByRole("heading", { level: 1 }).waitFor();
      await below.waitFor();
      await visitor.settled();
      const wide = await page.evaluate(`
        [document.documentElement, document.getElementById("main")].map((box) => box.scrollWidth - box.clientWidth)`);
      expect({ path, wide }).toEqual({ path, wide: [0, 0] });
      await visitor.expectAccessible();
    }
    await visitor.go("/keys");
    // What can be started stands beside the title, search and filters in one line, at the narrowest screen, too.
    const filters = page.getByRole("button", { name: "Filters" });
    const title = page.getByRole("heading", { level: 1 });
    const create = page.getByRole("button", { name: "New API key" });
    for (const line of [
      [title.locator(".."), create],
      [page.getByRole("searchbox"), filters],
    ]) {
      const boxes = await Promise.all(line.map((each) => each.boundingBox()));
      const middles = boxes.map((box) => (box ? box.y + box.height / 2 : Number.NaN));
      expect(Math.max(...middles) - Math.min(...middles)).toBeLessThan(3);
    }
    const status = page.getByRole("combobox", { name: "Status" });
    expect(await status.isVisible()).toBe(false);
    await filters.click();
    await status.selectOption("active");
    await page.getByRole("button", { name: "Filters 1" }).click();
    await until("the closed filters", async () => !(await status.isVisible()));
    const others = [
      "/groups",
      "/devices/add",
      "/audit/reports",
      "/audit/streams",
      "/audit/exports",
      "/audit/retention",
    ];
    const more = [
      "/keys/principals",
      "/keys/enrollment",
      "/settings/sso",
      "/settings/domains",
      "/settings/sign-in",
      "/settings/directories",
    ];
    for (const path of [...others, ...more, "/releases", "/releases/rollouts", "/welcome", "/orgs"]) {
      await visitor.go(path);
      const wide = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
      expect({ path, wide }).toEqual({ path, wide: 0 });
    }
    await below.getByRole("button", { name: "More" }).click();
    await page.getByRole("dialog").getByRole("link", { name: "Keys" }).click();
    await page.getByRole("heading", { level: 1, name: "API keys" }).waitFor();
  });

  visit("each reason for which an identity provider's sign-in may fail has its own sentence", async (visitor) => {
    const { page } = visitor;
    const reasons = ["session_expired", "token_invalid", "email_unverified", "domain_not_verified", "link_required"];
    const more = ["invite_required", "user_disabled", "tenant_inactive", "no_org_access", "invalid_callback", "busy"];
    const said = new Set<string>();
    for (const reason of [...reasons, ...more]) {
      await visitor.open(`/login?error=sso_error&reason=${reason}`, "Sign in");
      const sentence = (await page.getByRole("alert").textContent()) ?? "";
      expect({ reason, sentence }).toEqual({
        reason,
        sentence: expect.not.stringContaining("sign-in through the identity provider failed"),
      });
      said.add(sentence);
    }
    expect(said.size).toBe(reasons.length + more.length);
    const attempt = randomUUID();
    await visitor.open(`/login?error=sso_error&reason=busy&attempt=${attempt}`, "Sign in");
    await page.getByText(`Your administrator finds the cause under ${attempt}.`).waitFor();
    await visitor.open("/login?error=sso_error&reason=%3Cb%3E", "Sign in");
    await page.getByText("The sign-in through the identity provider failed.").waitFor();
    await visitor.expectAccessible();
  });
});
