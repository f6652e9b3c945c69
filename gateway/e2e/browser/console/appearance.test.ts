import { readFileSync } from "node:fs";
import { expect, it } from "@jest/globals";
import { until } from "@muster/testing";
import { everyKind, names } from "../../support/every-kind.ts";
import { startReceiver } from "../../support/receiver.ts";
import { newRollout } from "../../support/releases.ts";
import { enrolledAs, tenantWithAdmins } from "../../support/tenant-with-admins.ts";
import { inChromium, type Visitor } from "./visitor.ts";

/** The router's pages, by who visits them and which of them. A page of the router that nobody visits fails. */
const routes = {
  fleet: [
    "/",
    "/devices",
    ...["overview", "logs", "events", "updates", "history"].map((tab) => `/devices/$id?tab=${tab}`),
    "/devices/$id/live",
    "/devices/bulk-jobs/$id",
    "/devices/add",
    "/groups",
    "/sites",
    "/sites/$id",
    "/settings/organization",
  ],
  trust: [
    "/audit",
    "/audit/$id",
    "/audit/reports",
    "/audit/alerts",
    "/audit/streams",
    "/audit/exports",
    "/audit/retention",
    "/people",
    "/people/$id",
    "/roles",
    "/roles/$id",
    "/profile",
  ],
  connect: [
    "/webhooks",
    "/webhooks/$id",
    "/webhooks/$id/deliveries/$deliveryId",
    "/webhooks/event-types",
    "/webhooks/portal-links",
    "/keys",
    "/keys/principals",
    "/keys/enrollment",
    "/settings/sso",
    "/settings/sso/$id",
    "/settings/domains",
    "/settings/sign-in",
    "/settings/directories",
    "/settings/directories/$id",
    "/activate",
  ],
  platform: [
    "/",
    "/orgs",
    "/orgs/$id",
    "/partners",
    "/partners/$id",
    "/releases",
    "/releases/rollouts",
    "/releases/rollouts/$id",
    "/releases/templates",
    "/releases/new-rollout",
    "/operations",
    "/welcome",
  ],
  partner: ["/", "/settings/partner", "/settings/branding"],
};

/** The path of a route, with the ids of records. */
function pathOf(route: string, ids: Readonly<Record<string, string>>): string {
  const [pathname = ""] = route.split("?");
  return route.replace(/\$(\w+)/g, (_all, name: string) => {
    const id = name === "id" ? ids[pathname] : ids[name];
    if (id === undefined) throw new Error(`no record for ${route}`);
    return id;
  });
}

it("the pages that are looked at are all pages of the router", () => {
  const router = readFileSync(new URL("../../../console/src/router.tsx", import.meta.url), "utf8");
  const all = [...router.matchAll(/^ {2}page\("([^"]+)"/gm)].map(([, path]) => path);
  expect(all.length).toBeGreaterThan(45);
  const visited = new Set(Object.values(routes).flatMap((each) => each.map((route) => route.split("?")[0])));
  expect([...visited].sort()).toEqual([...all].sort());
});

/** Each page in both themes on a wide screen and on a phone, and without a horizontal bar on the narrowest one. */
async function expectEachBeautiful(visitor: Visitor, each: readonly string[], ids: Record<string, string> = {}) {
  for (const route of each) {
    await visitor.open(pathOf(route, ids), /\S/);
    await visitor.expectAccessibleAtBothWidths();
    await visitor.expectFits(320);
    await visitor.page.setViewportSize({ width: 1280, height: 800 });
  }
}

const [long, rightToLeft, wide] = names;

inChromium("the appearance of the console", (visit) => {
  for (const part of ["fleet", "trust", "connect"] as const) {
    visit(
      `each page of ${part} has no violation at any width and in any theme, whatever the names are`,
      async (visitor) => {
        const { cluster } = visitor;
        const receiver = await startReceiver(cluster);
        try {
          const tenant = await tenantWithAdmins(cluster);
          const ids = await everyKind(cluster, tenant, receiver.url);
          await visitor.signIn(tenant.admin, "/profile", tenant.admin.recoveryCodes[0]);
          await expectEachBeautiful(visitor, routes[part], ids);
        } finally {
          await receiver.close();
        }
      },
    );
  }

  visit("each page of the platform and of a partner has no violation, whatever the names are", async (visitor) => {
    const { cluster } = visitor;
    const { partnerId, orgId, partnerAdmin } = await tenantWithAdmins(cluster);
    const rollout = await newRollout(cluster);
    const root = await enrolledAs(cluster, "platform-admin", {});
    const { versionId } = await newRollout(cluster);
    expect((await root.api.call("POST", `/agent-versions/${versionId}/yank`)).status).toBe(200);
    await root.api.call("PATCH", `/orgs/partners/${partnerId}`, { name: long });
    await root.api.call("PATCH", `/orgs/organizations/${orgId}`, { name: rightToLeft });
    const template = { name: `${long.slice(0, 60)}${orgId}`, rings: [{ name: wide.slice(0, 100), orgIds: [orgId] }] };
    expect((await root.api.call("POST", "/agent-versions/rollout-templates", template)).status).toBe(201);
    await visitor.signIn(root, "/profile", root.recoveryCodes[0]);
    await expectEachBeautiful(visitor, routes.platform, {
      "/orgs/$id": orgId,
      "/partners/$id": partnerId,
      "/releases/rollouts/$id": rollout.id,
    });
    await visitor.page.getByRole("button", { name: "Sign out" }).click();
    await visitor.page.getByText("You are signed out.").waitFor();
    await visitor.signIn(partnerAdmin, "/", partnerAdmin.recoveryCodes[0]);
    await expectEachBeautiful(visitor, routes.partner);
  });

  visit("an audit row and a report are printed on white paper, whole, without the screen's frame", async (visitor) => {
    const { cluster, page } = visitor;
    const { orgId, admin } = await tenantWithAdmins(cluster);
    const site = await admin.api.call("POST", "/orgs/sites", { orgId, name: "Printed" });
    await admin.api.call("PATCH", `/orgs/sites/${site.body.id}`, {
      settings: Object.fromEntries(Array.from({ length: 60 }, (_, at) => [`setting${at}`, wide])),
    });
    const id = await until("the audit row", async () => {
      const { body } = await admin.api.call("GET", "/audit-logs/logs?action=site.update");
      return (body.data?.[0] as { id: string } | undefined)?.id ?? null;
    });
    await visitor.signIn(admin, `/audit/${id}`, admin.recoveryCodes[0]);
    for (const [path, heading, text] of [
      [`/audit/${id}`, /Site changed/, "setting59"],
      ["/audit/reports", "Audit reports", "By day"],
    ] as const) {
      // What is left of a sheet of A4 inside its margins, at 96 dots per inch.
      await page.setViewportSize({ width: 673, height: 1001 });
      await visitor.open(path, heading);
      await visitor.settled();
      await page.getByText(text).first().waitFor();
      await page.emulateMedia({ media: "print", colorScheme: "dark" });
      expect(await page.getByRole("navigation").locator("visible=true").count()).toBe(0);
      expect(await page.getByRole("main").getByRole("button").locator("visible=true").count()).toBe(0);
      expect(await page.getByRole("heading", { level: 1 }).isVisible()).toBe(true);
      // What is folded on screen is on paper.
      for (const folded of await page.getByRole("main").locator("details > :not(summary)").all()) {
        expect(await folded.isVisible()).toBe(true);
      }
      const seen = (await page.evaluate(`({
        ground: getComputedStyle(document.documentElement).backgroundColor,
        // What would be cut: boxes that scroll, and what reaches beyond the sheet.
        cut: [...document.querySelectorAll("main *")].filter((box) => {
          const { overflowX, overflowY, display } = getComputedStyle(box);
          const scrolls = overflowX !== "visible" || overflowY !== "visible";
          return display !== "inline" && scrolls && box.checkVisibility() &&
            (box.scrollHeight > box.clientHeight + 1 || box.scrollWidth > box.clientWidth + 1) &&
            !box.closest(".visually-hidden");
        }).map((box) => box.outerHTML.slice(0, 120)),
        beyond: document.documentElement.scrollWidth - document.documentElement.clientWidth,
      })`)) as object;
      expect({ path, ...seen }).toEqual({ path, ground: "rgb(255, 255, 255)", cut: [], beyond: 0 });
      expect((await page.pdf({ format: "A4" })).subarray(0, 5).toString()).toBe("%PDF-");
      await page.emulateMedia({ media: null, colorScheme: null });
    }
  });
});
