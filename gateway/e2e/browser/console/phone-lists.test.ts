import { expect } from "@jest/globals";
import { until } from "@muster/testing";
import { everyKind, names } from "../../support/every-kind.ts";
import { startReceiver } from "../../support/receiver.ts";
import { newRollout } from "../../support/releases.ts";
import { enrolledAs, tenantWithAdmins } from "../../support/tenant-with-admins.ts";
import { inChromium, type Visitor } from "./visitor.ts";

/** Most pixels between the top of a phone's screen and a list. */
const beginsWithin = 230;
/** What a finger hits, in pixels. */
const fingerPx = 44;

/** The lists, by who has rows of each. */
const lists = {
  organization: [
    "/devices",
    "/groups",
    "/sites",
    "/audit",
    "/audit/alerts",
    "/audit/streams",
    "/audit/exports",
    "/people",
    "/roles",
    "/webhooks",
    "/webhooks/portal-links",
    "/keys",
    "/keys/principals",
    "/keys/enrollment",
    "/settings/sso",
    "/settings/domains",
    "/settings/directories",
  ],
  platform: ["/devices", "/orgs", "/sites", "/partners", "/releases", "/releases/rollouts", "/releases/templates"],
} as const;

/** Where the first row begins, or what of all rows needs a look; and controls above it that a finger may miss. */
const begin = `(() => {
  const [first] = [...document.querySelectorAll('main :is(tbody tr, [role="note"])')].filter((each) => each.checkVisibility());
  const { top } = first.getBoundingClientRect();
  const above = [...document.querySelectorAll("main :is(header, nav, search) :is(button, a, input)")];
  const small = above
    .map((each) => [each, each.getBoundingClientRect()])
    .filter(([each, box]) => each.checkVisibility() && box.top < top && Math.min(box.width, box.height) < ${fingerPx} - 0.5)
    .map(([each, box]) => each.outerHTML.slice(0, 120) + " " + box.width + " x " + box.height);
  return { top: Math.round(top), small };
})()`;

async function expectListsBegin({ page, open, settled, expectFits }: Visitor, paths: readonly string[]) {
  const touch = await page.context().newCDPSession(page);
  await touch.send("Emulation.setTouchEmulationEnabled", { enabled: true });
  for (const path of paths) {
    await page.setViewportSize({ width: 390, height: 844 });
    await open(path, /\S/);
    await settled();
    const rows = page.locator("main tbody tr[data-index]");
    await until(`the rows of ${path}`, async () => (await rows.count()) > 0);
    expect(await page.evaluate("matchMedia('(pointer: coarse)').matches")).toBe(true);
    const { top, small } = (await page.evaluate(begin)) as { top: number; small: string[] };
    expect({ path, small, top: top <= beginsWithin ? "in time" : top }).toEqual({ path, small: [], top: "in time" });
    await expectFits(320);
    // What scrolls in the line of the filters does so by itself: each of its controls can be brought into sight.
    const bar = page.getByRole("main").getByRole("search");
    for (const control of await bar.getByRole("button").locator("visible=true").all()) {
      await control.scrollIntoViewIfNeeded();
      const box = await control.boundingBox();
      expect({ path, left: (box?.x ?? -1) >= 0, right: (box?.x ?? 0) + (box?.width ?? 999) <= 321 }).toEqual({
        path,
        left: true,
        right: true,
      });
    }
  }
}

inChromium("lists on a phone", (visit) => {
  visit(
    "each list of an organization begins high on the screen, below controls as large as a finger",
    async (visitor) => {
      const { cluster } = visitor;
      const receiver = await startReceiver(cluster);
      try {
        const tenant = await tenantWithAdmins(cluster);
        await everyKind(cluster, tenant, receiver.url);
        await visitor.signIn(tenant.admin, "/profile", tenant.admin.recoveryCodes[0]);
        await expectListsBegin(visitor, lists.organization);
      } finally {
        await receiver.close();
      }
    },
  );

  visit("each list of the platform begins high on the screen, below controls as large as a finger", async (visitor) => {
    const { cluster } = visitor;
    const { orgId } = await tenantWithAdmins(cluster);
    await newRollout(cluster);
    const root = await enrolledAs(cluster, "platform-admin", {});
    await root.api.call("POST", "/orgs/sites", { orgId, name: names[0] });
    const template = { name: `First ${orgId}`, rings: [{ name: "First", orgIds: [orgId] }] };
    expect((await root.api.call("POST", "/agent-versions/rollout-templates", template)).status).toBe(201);
    await visitor.signIn(root, "/profile", root.recoveryCodes[0]);
    await expectListsBegin(visitor, lists.platform);
  });

  visit("a part of the fleet is chosen in the line of the search, and left by another press", async (visitor) => {
    const { cluster, page } = visitor;
    const receiver = await startReceiver(cluster);
    try {
      const tenant = await tenantWithAdmins(cluster);
      await everyKind(cluster, tenant, receiver.url);
      await visitor.signIn(tenant.admin, "/devices", tenant.admin.recoveryCodes[0]);
      await page.setViewportSize({ width: 390, height: 844 });
      const parts = page.getByRole("group", { name: "Parts of the fleet" });
      const [search, part] = [page.getByRole("searchbox"), parts.getByRole("button").locator("visible=true").first()];
      const middles = await Promise.all(
        [search, part].map(async (each) => {
          await each.waitFor();
          const box = await each.boundingBox();
          return (box?.y ?? 0) + (box?.height ?? 0) / 2;
        }),
      );
      expect(Math.abs((middles[0] ?? 0) - (middles[1] ?? 99))).toBeLessThan(3);
      expect(await part.getAttribute("aria-pressed")).toBe("false");
      await part.click();
      await page.waitForURL(/status=\w+$/);
      await visitor.settled();
      const pressed = parts.getByRole("button", { pressed: true });
      await visitor.expectAccessible();
      await pressed.click();
      await page.waitForURL((url) => !url.searchParams.get("status"));
      // A part that an address names is in sight, however many stand before it.
      await page.goto(`${visitor.base}/devices?status=online`);
      await parts.getByRole("button", { name: /^Offline/ }).waitFor();
      await until("the chosen part to be visible", async () => {
        const { x, width } = (await pressed.boundingBox()) ?? { x: 390, width: 0 };
        return x > 0 && x + width <= 390;
      });
    } finally {
      await receiver.close();
    }
  });
});
