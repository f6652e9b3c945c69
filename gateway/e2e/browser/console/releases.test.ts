import { randomUUID } from "node:crypto";
import { expect } from "@jest/globals";
import { enroller, newTenant } from "../../support/enroller.ts";
import { asDatabaseOwner } from "../../support/owner-rows.ts";
import { newRollout } from "../../support/releases.ts";
import { enrolledAs } from "../../support/tenant-with-admins.ts";
import { newOrganization, newPartner, operator } from "../../support/users.ts";
import { inChromium, type Visitor } from "./visitor.ts";

const dialogOf = ({ page }: Visitor) => page.getByRole("dialog");

/** A card of the page, by its heading. */
const partOf = ({ page }: Visitor, name: string) =>
  page.locator("section").filter({ has: page.getByRole("heading", { level: 2, name, exact: true }) });

/** Chooses an operation of a row's or a page's menu. */
async function choose({ page }: Visitor, record: string, operation: string) {
  await page.getByRole("button", { name: `More for ${record}`, exact: true }).click();
  await page.getByRole("menuitem", { name: operation }).click();
}

inChromium("releases in the console", (visit) => {
  visit(
    "publish a version by its manifest, roll it out in waves from a template, go back, and yank it",
    async (visitor) => {
      const { cluster, page } = visitor;
      const customer = `Wave ${randomUUID().slice(0, 8)}`;
      const orgId = await newOrganization(cluster, await newPartner(cluster), { name: customer });
      await (await enroller(cluster))(orgId, { hostname: "canary" });
      const admin = await enrolledAs(cluster, "platform-admin", {});
      const version = `0.0.3-r${randomUUID().slice(0, 8)}`;
      const artifact = { os: "linux", arch: "amd64", size: 1, sha256: "0".repeat(64), name: "helper" };
      const manifest = JSON.stringify({ version, component: "helper", artifacts: [artifact] });
      const dialog = dialogOf(visitor);

      await visitor.signIn(admin, "/releases", admin.recoveryCodes[0]);
      await page.getByRole("button", { name: "Publish …" }).first().click();
      await dialog.getByLabel("Manifest", { exact: true }).fill("no manifest");
      await dialog.getByText("This is no manifest: its first line must be its JSON.").waitFor();
      await dialog.getByLabel("Manifest", { exact: true }).fill(manifest);
      await dialog.getByText(`helper ${version}, 1 file.`).waitFor();
      await dialog.getByLabel("Folder of its files").fill("http://releases.example.com");
      await dialog.getByRole("button", { name: "Publish" }).click();
      await dialog.getByText("helper: Must be an https URL").waitFor();
      await visitor.expectAccessibleAtBothWidths();
      await dialog.getByLabel("Folder of its files").fill("https://releases.example.com/files");
      await dialog.getByRole("button", { name: "Publish" }).click();
      await page.getByText(`helper ${version} is registered`).waitFor();

      await choose(visitor, `helper ${version}`, "Roll out");
      await page.getByRole("heading", { level: 1, name: "New rollout" }).waitFor();
      await page.getByRole("button", { name: "Add a wave" }).click();
      await page.getByRole("button", { name: "Preview and start …" }).click();
      await page.getByText("Must name owners, labels, systems, architectures or a range of versions").waitFor();
      await visitor.expectAccessibleAtBothWidths();
      await page.getByRole("searchbox", { name: "Add organizations by name" }).fill(customer);
      await page.getByRole("button", { name: customer, exact: true }).click();
      await page.getByLabel("Halts after failures").fill("7");
      await page.getByRole("button", { name: "Keep as a template …" }).click();
      const template = `Careful ${randomUUID().slice(0, 8)}`;
      await dialog.getByLabel("Name of the template").fill(template);
      await dialog.getByRole("button", { name: "Save" }).click();
      await page.getByText(`The template “${template}” is saved.`).waitFor();
      await visitor.open("/releases/templates", "Templates");
      await visitor.expectAccessibleAtBothWidths();
      await visitor.follow(page.getByRole("link", { name: template }));
      await page.getByLabel("Program").selectOption("helper");
      await page.getByLabel("Version", { exact: true }).selectOption(version);
      expect(await page.getByLabel("Halts after failures").inputValue()).toBe("7");
      await page.getByRole("button", { name: "Preview and start …" }).click();
      await dialog.getByRole("row", { name: "Canary 1 1" }).waitFor();
      await dialog.getByRole("button", { name: "Start" }).click();
      await page.getByRole("heading", { level: 1, name: `helper ${version}` }).waitFor();
      await page.getByText("1 Canary").waitFor();
      await visitor.expectAccessibleAtBothWidths();

      await choose(visitor, `helper ${version}`, "Roll back to an older version");
      await page.getByRole("heading", { level: 1, name: "Roll back" }).waitFor();
      await page.getByLabel("Rollback note").fill("no note");
      await page.getByRole("button", { name: customer }).waitFor();
      await visitor.expectAccessibleAtBothWidths();
      await page.goBack();
      await choose(visitor, `helper ${version}`, "Cancel it …");
      await dialog.getByRole("button", { name: "Cancel it" }).click();
      await page.getByText("The rollout is cancelled.").waitFor();

      await visitor.open("/releases/templates", "Templates");
      await choose(visitor, template, "Delete …");
      await dialog.getByRole("button", { name: "Delete" }).click();
      await page.getByText(`${template} is deleted.`).waitFor();
      await visitor.open("/releases", "Releases");
      await choose(visitor, `helper ${version}`, "Yank …");
      await dialog.getByRole("textbox").fill(version);
      await dialog.getByRole("button", { name: "Yank" }).click();
      await page.getByText(`helper ${version} is yanked.`).waitFor();
      const listed = await (await operator(cluster)).call("GET", "/agent-versions?component=helper&limit=100");
      const rows = listed.body.data as { version: string; yankedAt: string | null }[];
      expect(rows.find((row) => row.version === version)?.yankedAt).toEqual(expect.any(String));
    },
  );

  visit("the waves of a rollout say how far each is, and what failed against the limit", async (visitor) => {
    const { cluster } = visitor;
    const root = await operator(cluster);
    const [first, second] = [await newTenant(root), await newTenant(root)];
    const enroll = await enroller(cluster);
    const devices = await Promise.all(
      ["done", "failing", "going"].map((hostname) => enroll(first.orgId, { hostname })),
    );
    await enroll(second.orgId);
    const rollout = await newRollout(cluster, {
      rings: [
        { name: "Canary", orgIds: [first.orgId] },
        { name: "Others", orgIds: [second.orgId] },
      ],
      haltAfterFailures: 5,
      waveSuccessPercent: 90,
    });
    await asDatabaseOwner(
      cluster,
      `WITH counted AS (UPDATE agent_release.rollout SET succeeded = 1, failed = 1, in_flight = 1 WHERE id = $1)
       INSERT INTO agent_release.update_attempt (id, device_id, org_id, partner_id, component, release_id, version, rollout_id,
         from_version, state, offered_at, deadline, ended_at, wave)
       SELECT gen_random_uuid(), d.id, $2, $3, 'helper', r.release_id, $4, r.id, '0.0.1', d.state, now(), now() + interval '1 day',
              CASE d.state WHEN 'offered' THEN NULL ELSE now() END, 0
       FROM agent_release.rollout r, unnest($5::uuid[], ARRAY['succeeded', 'failed', 'offered']) AS d (id, state)
       WHERE r.id = $1`,
      [rollout.id, first.orgId, first.partnerId, rollout.version, devices],
    );

    const admin = await enrolledAs(cluster, "platform-admin", {});
    await visitor.signIn(admin, `/releases/rollouts/${rollout.id}`, admin.recoveryCodes[0]);
    const waves = partOf(visitor, "Waves").getByRole("listitem");
    await waves.getByText("1 done, 1 failed, 1 in progress").waitFor();
    expect(await waves.allInnerTexts()).toEqual([
      expect.stringMatching(/^1 Canary\s+3 devices\s/),
      expect.stringMatching(/^2 Others\s+1 device\s+waits for wave 1$/),
    ]);
    const failures = partOf(visitor, "Failures against the limit").getByRole("listitem");
    expect(await failures.allTextContents()).toEqual(["All devices1 of 2 failed, halts at 6"]);
    await visitor.expectAccessibleAtBothWidths();
    expect((await root.call("POST", `/agent-versions/rollouts/${rollout.id}/cancel`)).status).toBe(200);
  });

  visit(
    "widen a rollout; a pin of an organization says what is in force and needs a note to go back",
    async (visitor) => {
      const { cluster, page } = visitor;
      const rollout = await newRollout(cluster);
      const orgId = await newOrganization(cluster, await newPartner(cluster));
      const admin = await enrolledAs(cluster, "platform-admin", {});
      const dialog = dialogOf(visitor);
      await visitor.signIn(admin, `/releases/rollouts/${rollout.id}`, admin.recoveryCodes[0]);
      await choose(visitor, `helper ${rollout.version}`, "Change …");
      await dialog.getByLabel("Percent of the devices").fill("0");
      await dialog.getByRole("button", { name: "Save" }).click();
      await dialog.getByText("May only rise").waitFor();
      await dialog.getByLabel("Percent of the devices").fill("5");
      await dialog.getByRole("button", { name: "Save" }).click();
      await page.getByText("5 % of the devices").first().waitFor();
      const root = await operator(cluster);
      expect((await root.call("POST", `/agent-versions/rollouts/${rollout.id}/cancel`)).status).toBe(200);

      await visitor.open(`/orgs/${orgId}`, "Test org");
      await page.getByRole("button", { name: "Change updates …" }).click();
      await page.getByLabel("Policy").selectOption("manual");
      await page.getByLabel("Saturday").check();
      await page.getByLabel("From", { exact: true }).fill("22:00");
      await page.getByLabel("Until", { exact: true }).fill("04:00");
      await page.getByLabel("Devices that run a newer version go back to the pinned one").check();
      await page.getByLabel("Rollback note").fill("no note");
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByLabel("Rollback note").and(page.locator("[aria-invalid=true]")).waitFor();
      await visitor.expectAccessibleAtBothWidths();
      await page.getByLabel("Devices that run a newer version go back to the pinned one").uncheck();
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByText("manual, by the organization").waitFor();
      const { body } = await root.call("GET", `/orgs/organizations/${orgId}/agent-updates`);
      expect(body.fields).toMatchObject({
        updatePolicy: { value: "manual" },
        windowDays: { value: ["sat"] },
        windowStart: { value: expect.stringMatching(/^22:00/) },
      });
    },
  );
});
