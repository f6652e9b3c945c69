import { expect } from "@jest/globals";
import type { Locator, Page } from "playwright-core";
import { enroller } from "../../support/enroller.ts";
import { totpAt } from "../../support/operator.ts";
import { newRollout } from "../../support/releases.ts";
import { enrolledAs } from "../../support/tenant-with-admins.ts";
import { enrollTotp, newOrganization, newPartner, newSite, signedInAs } from "../../support/users.ts";
import { inChromium, type Visitor } from "./visitor.ts";

const isSignedIn = (page: Page) => page.getByRole("button", { name: "Sign out" }).waitFor();

/** Opens every page of the navigation and of its sections by clicking; returns the paths that were opened. */
async function everyPage({ page, follow }: Visitor): Promise<string[]> {
  const opened: string[] = [];
  const open = async (navigation: Locator, name: string) => {
    opened.push(await follow(navigation.getByRole("link", { name, exact: true })));
  };
  const main = page.getByRole("navigation", { name: "Main" });
  const tabs = page.getByRole("navigation", { name: /^Pages/ });
  for (const entry of await main.getByRole("link").allTextContents()) {
    await open(main, entry);
    for (const tab of (await tabs.getByRole("link").allTextContents()).slice(1)) await open(tabs, tab);
  }
  return opened;
}

inChromium("sessions and limits in the console", (visit) => {
  visit("an app's code signs in by keyboard; twenty reloads keep to one session", async (visitor) => {
    const { cluster, page } = visitor;
    const orgId = await newOrganization(cluster, await newPartner(cluster));
    const user = await signedInAs(cluster, "org-admin", { orgId });
    const { secret } = await enrollTotp(user);
    await visitor.open("/login?next=/devices", "Sign in");
    await page.getByLabel("E-mail").focus();
    await page.keyboard.type(user.email);
    await page.keyboard.press("Tab");
    await page.keyboard.type(user.password);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Second factor" }).waitFor();
    // The enrollment used the code of this time step: the next step's code is already valid.
    await page.getByLabel("Code from your app").focus();
    await page.keyboard.type(totpAt(secret, Date.now() + 30_000));
    await page.keyboard.press("Enter");
    await isSignedIn(page);
    for (let reload = 0; reload < 20; reload++) {
      await page.reload();
      await isSignedIn(page);
    }
    expect(new URL(page.url()).pathname).toBe("/devices");
  });

  visit(
    "twenty tabs share one session: opening one refreshes nothing, and all show revocation, new sign-in and sign-out",
    async (visitor) => {
      const { cluster, page, context, base } = visitor;
      const orgId = await newOrganization(cluster, await newPartner(cluster));
      const user = await signedInAs(cluster, "org-viewer", { orgId });
      await visitor.signIn(user, "/profile");
      let refreshes = 0;
      context.on("request", (request) => {
        if (request.url().endsWith("/auth/refresh")) refreshes += 1;
      });
      const tabs = [page];
      while (tabs.length < 20) {
        const tab = await context.newPage();
        await tab.goto(`${base}/profile`);
        tabs.push(tab);
      }
      await Promise.all(tabs.map(isSignedIn));
      expect(refreshes).toBe(0);
      const [first, last] = [page, tabs.at(-1) ?? page];
      const ended = (tab: Page) => tab.getByRole("dialog", { name: "Your session has ended" });
      await user.api.call("DELETE", "/auth/sessions");
      // The next tab that calls the API gets the refusal, and notifies the others.
      await last.getByRole("link", { name: "Devices" }).click();
      await Promise.all(tabs.map((tab) => ended(tab).waitFor()));
      await ended(first)
        .getByLabel(/^Password of/)
        .fill(user.password);
      await ended(first).getByRole("button", { name: "Sign in", exact: true }).click();
      await Promise.all(tabs.map((tab) => ended(tab).waitFor({ state: "detached" })));
      await last.getByText("No device has enrolled yet.").waitFor();
      await last.getByRole("button", { name: "Sign out" }).click();
      await Promise.all(tabs.map((tab) => tab.getByText("You are signed out.").waitFor()));
      for (const tab of tabs) expect(new URL(tab.url()).pathname).toBe("/login");
    },
  );

  visit(
    "a user who signs out is at the sign-in page in every tab, although another tab noticed the end first",
    async (visitor) => {
      const { cluster, page, context, base } = visitor;
      const orgId = await newOrganization(cluster, await newPartner(cluster));
      await visitor.signIn(await signedInAs(cluster, "org-viewer", { orgId }), "/profile");
      const other = await context.newPage();
      await other.goto(`${base}/profile`);
      await isSignedIn(other);
      let release: () => void = () => undefined;
      const released = new Promise<void>((resolve) => {
        release = resolve;
      });
      await page.route("**/auth/logout", async (route) => {
        const response = await route.fetch();
        await released;
        await route.fulfill({ response });
      });
      await page.getByRole("button", { name: "Sign out" }).click();
      await other.getByRole("link", { name: "Devices" }).click();
      for (const tab of [other, page]) await tab.getByRole("dialog", { name: "Your session has ended" }).waitFor();
      release();
      for (const tab of [page, other]) await tab.getByText("You are signed out.").waitFor();
    },
  );

  visit(
    "a lost gateway signs no user out; after a revocation elsewhere a dialog over the page signs in again",
    async (visitor) => {
      const { cluster, page, context } = visitor;
      const orgId = await newOrganization(cluster, await newPartner(cluster));
      const user = await signedInAs(cluster, "org-viewer", { orgId });
      await (await enroller(cluster))(orgId, { hostname: "still-here" });
      await visitor.signIn(user, "/devices");
      await page.getByRole("link", { name: "still-here" }).waitFor();
      let isAway = true;
      const lost = { status: 503, json: { code: "unavailable", error: "Service is temporarily unavailable" } };
      await context.route("**/api/**", (route) => (isAway ? route.fulfill(lost) : route.continue()));
      await page.getByRole("button", { name: /^As of/ }).click();
      const said = page.getByText("A part of Muster does not answer at the moment.");
      await said.waitFor();
      // The rows that were read stay.
      expect(await page.getByRole("link", { name: "still-here" }).count()).toBe(1);
      await visitor.expectAccessible();
      isAway = false;
      await page.getByRole("button", { name: "Try again" }).click();
      await said.waitFor({ state: "detached" });
      await page.getByRole("searchbox", { name: "Name, serial, address, customer" }).fill("still");
      await page.getByRole("link", { name: "still-here" }).waitFor();
      await user.api.call("DELETE", "/auth/sessions");
      // Without a mouse, and also while hidden: where the stream of changes ended first, the dialog already covers the
      // button. Its name has no time where the session ended before the list for the search was read.
      await page.getByRole("button", { name: /^(As of|Refresh)/, includeHidden: true }).dispatchEvent("click");
      const dialog = page.getByRole("dialog", { name: "Your session has ended" });
      await dialog.getByLabel(/^Password of/).fill(user.password);
      await visitor.expectAccessible();
      await dialog.getByRole("button", { name: "Sign in", exact: true }).click();
      await dialog.waitFor({ state: "detached" });
      await page.getByRole("link", { name: "still-here" }).waitFor();
      expect(new URL(page.url()).search).toBe("?search=still");
    },
  );

  visit("tabs that slept for a night continue without a sign-in; those of a disabled user do not", async (visitor) => {
    const { cluster, page, context, base } = visitor;
    const orgId = await newOrganization(cluster, await newPartner(cluster));
    const admin = await enrolledAs(cluster, "org-admin", { orgId });
    const user = await signedInAs(cluster, "org-viewer", { orgId });
    const enroll = await enroller(cluster);
    await enroll(orgId, { hostname: "before" });
    // The pages' clock, not the server's: the page's token has expired by the page's own time, as after a closed lid.
    await context.clock.install();
    await visitor.signIn(user, "/devices");
    const tab = await context.newPage();
    await tab.goto(`${base}/devices`);
    for (const each of [page, tab]) await each.getByRole("link", { name: "before" }).waitFor();
    await enroll(orgId, { hostname: "overnight" });
    await context.clock.fastForward("08:00:00");
    for (const each of [page, tab]) {
      await each.getByRole("button", { name: /^As of/ }).click();
      await each.getByRole("link", { name: "overnight" }).waitFor();
      expect(await each.getByRole("dialog").count()).toBe(0);
    }
    expect((await admin.api.call("POST", `/users/${user.id}/disable`)).status).toBe(200);
    await context.clock.fastForward("08:00:00");
    for (const each of [page, tab]) {
      const ended = each.getByRole("dialog", { name: "Your session has ended" });
      await ended.or(each.getByText("You are signed out.")).waitFor();
    }
  });

  visit("nothing is offered that is refused: viewer, person of one site, partner with a list", async (visitor) => {
    const { cluster, page, context, base } = visitor;
    const partnerId = await newPartner(cluster);
    const orgId = await newOrganization(cluster, partnerId);
    const siteId = await newSite(cluster, orgId);
    const users = [
      await signedInAs(cluster, "org-viewer", { orgId }),
      await signedInAs(cluster, "org-admin", { orgId, siteIds: [siteId] }),
      await signedInAs(cluster, "partner-technician", { partnerId, orgAccess: "selected", orgIds: [orgId] }),
    ];
    const refused: string[] = [];
    context.on("response", (response) => {
      if (response.status() === 403) refused.push(response.url());
    });
    const linked = new Set<string>();
    for (const user of users) {
      await visitor.signIn(user, "/");
      const opened = await everyPage(visitor);
      expect(opened).toContain("/devices");
      expect({ user: user.email, refused }).toEqual({ user: user.email, refused: [] });
      for (const path of opened) linked.add(path);
      await page.getByRole("button", { name: "Sign out" }).click();
      await page.getByText("You are signed out.").waitFor();
    }
    expect(linked.size).toBeGreaterThan(8);
    // The person of one site read nothing of the organization's trail, keys of programs or webhooks' making.
    const [, limited] = users;
    if (limited) await visitor.signIn(limited, "/audit");
    await page.getByText("Your account is limited to some sites.").waitFor();
    await page.goto(`${base}/sites`);
    const create = page.getByRole("button", { name: /^New site/ }).first();
    await create.waitFor();
    expect(await create.isDisabled()).toBe(true);
    await visitor.expectAccessible();
  });

  visit("a rollout is watched, paused and resumed; a device's page shows why it does not update", async (visitor) => {
    const { cluster, page } = visitor;
    const rollout = await newRollout(cluster);
    const orgId = await newOrganization(cluster, await newPartner(cluster));
    const deviceId = await (await enroller(cluster))(orgId, { hostname: "why-not" });
    const admin = await enrolledAs(cluster, "platform-admin", {});
    await visitor.signIn(admin, `/releases/rollouts/${rollout.id}`, admin.recoveryCodes[0]);
    await page.getByRole("heading", { level: 1, name: new RegExp(rollout.version) }).waitFor();
    await page.getByText("Nothing has been offered yet.").waitFor();
    for (const [verb, said] of [
      ["Pause", "The rollout is paused."],
      ["Resume", "The rollout continues."],
    ] as const) {
      await page.getByRole("button", { name: `${verb} …` }).click();
      await page.getByRole("dialog").getByRole("button", { name: verb, exact: true }).click();
      await page.getByText(said).waitFor();
      await visitor.expectAccessible();
    }
    await page.getByRole("button", { name: `More for helper ${rollout.version}` }).click();
    await page.getByRole("menuitem", { name: "Cancel it …" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Cancel it", exact: true }).click();
    await page.getByText("The rollout is cancelled.").waitFor();
    await visitor.open(`/devices/${deviceId}`, /why-not/);
    await page.getByText(/^agent \S+: No version is promoted or pinned/).waitFor();
    await visitor.open("/operations", "Operations");
    await page.getByRole("row", { name: /^tenancy ok/ }).waitFor();
    await page.getByRole("listitem").filter({ hasText: "no synchronous standby" }).getByText("all services").waitFor();
    await visitor.expectAccessible();
  });
});
