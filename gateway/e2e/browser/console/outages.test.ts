import { enroller } from "../../support/enroller.ts";
import { asDatabaseOwner } from "../../support/owner-rows.ts";
import { newOrganization, newPartner, newSite, signedInAs } from "../../support/users.ts";
import { inChromium } from "./visitor.ts";

const seenAt = "2026-01-02T03:04:05Z";

inChromium("an owner whose devices are away", (visit) => {
  visit("is shown so on its page, since when, and leads to them", async (visitor) => {
    const { cluster, page } = visitor;
    const partnerId = await newPartner(cluster);
    const orgId = await newOrganization(cluster, partnerId);
    const siteId = await newSite(cluster, orgId);
    const enroll = await enroller(cluster);
    const ids = [];
    for (const hostname of ["never-01", "seen-01", "never-02"]) ids.push(await enroll(orgId, { siteId, hostname }));
    const set = (change: string, id: unknown) =>
      asDatabaseOwner(cluster, `UPDATE tenancy.devices SET ${change} WHERE id = $1`, [id]);
    for (const id of ids) await set("status = 'offline', last_seen_at = NULL", id);
    const admin = await signedInAs(cluster, "partner-technician", { partnerId, orgAccess: "all" });
    await visitor.signIn(admin, `/orgs/${orgId}`);
    const note = page.getByRole("note").filter({ hasText: "All its devices are offline." });
    await note.getByText("None of them has connected yet.").waitFor();

    await set(`last_seen_at = '${seenAt}'`, ids[1]);
    for (const path of [`/orgs/${orgId}`, `/sites/${siteId}`]) {
      await visitor.open(path, /./);
      await note.getByText("The last was seen").waitFor();
      await note.locator(`time[datetime^="2026-01-02T03:04:05"]`).waitFor();
    }
    await visitor.expectAccessible();
    await set("status = 'online'", ids[0]);
    await visitor.open(`/orgs/${orgId}`, /./);
    await page.getByText("2 of its devices are offline.").waitFor();
    await page.getByRole("link", { name: "See offline devices" }).click();
    await page.getByRole("link", { name: "seen-01" }).waitFor();
    await visitor.gone(page.getByRole("link", { name: "never-01" }));
  });
});
