import { type ChildProcess, spawn } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect } from "@jest/globals";
import { until } from "@muster/testing";
import { enrollTotp, newOrganization, newPartner, signedInAs } from "../../support/users.ts";
import { inChromium, type Visitor } from "./visitor.ts";

const program = fileURLToPath(new URL("../../../../deploy/cli/muster.mjs", import.meta.url));

/** `muster login` of the compiled program; its browser writes the address that it is to open into a file. */
function startLogin(visitor: Visitor, ...args: string[]) {
  const folder = mkdtempSync(join(tmpdir(), "muster-login-"));
  const [browser, opened] = [join(folder, "browser"), join(folder, "opened")];
  writeFileSync(browser, `#!/bin/sh\nprintf %s "$1" > ${opened}\n`);
  chmodSync(browser, 0o700);
  const env = {
    PATH: process.env.PATH ?? "",
    HOME: folder,
    MUSTER_URL: visitor.base,
    MUSTER_CONFIG_DIR: folder,
    BROWSER: browser,
  };
  const run = (...words: string[]) => spawn(process.execPath, [program, ...words], { env });
  const child = run("login", "--name", "Ada’s laptop", ...args);
  const output = collect(child);
  return {
    run,
    output,
    ended: new Promise<number | null>((resolve) => child.once("close", resolve)),
    openedAddress: () => (existsSync(opened) ? readFileSync(opened, "utf8") : null),
    code: () => until("the code", () => /[A-Z]{4}-[A-Z]{4}/.exec(output.text)?.[0]),
    stop() {
      child.kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function collect(child: ChildProcess): { text: string } {
  const output = { text: "" };
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on("data", (chunk) => {
      output.text += chunk;
    });
  }
  return output;
}

inChromium("signing a command line in", (visit) => {
  visit(
    "a person with a second factor approves in the browser: the session is theirs, and ends by hand",
    async (visitor) => {
      const { cluster, page } = visitor;
      const user = await signedInAs(cluster, "org-admin", {
        orgId: await newOrganization(cluster, await newPartner(cluster)),
      });
      const { recoveryCodes } = await enrollTotp(user);
      const [first = ""] = recoveryCodes;
      const requested: string[] = [];
      page.on("request", (request) => requested.push(request.url()));
      const login = startLogin(visitor);
      try {
        const code = await login.code();
        await until("the browser", () => login.openedAddress() === `${visitor.base}/activate`);
        await visitor.signIn(user, "/activate", first);
        await page.getByLabel("Code that the command line shows").fill("BBBB-BBBB");
        await page.getByRole("button", { name: "Continue" }).click();
        await page.getByText("This code is wrong, was used, or has expired.").waitFor();
        await visitor.expectAccessible();
        await page.getByLabel("Code that the command line shows").fill(code.toLowerCase());
        await page.getByRole("button", { name: "Continue" }).click();
        await page.getByRole("heading", { name: "Did you start this?" }).waitFor();
        await page.getByText("Ada’s laptop", { exact: true }).waitFor();
        await page.getByText("127.0.0.1").waitFor();
        await visitor.expectAccessible();
        await page.getByRole("button", { name: "Yes, sign it in" }).click();
        await page.getByText("Ada’s laptop is signed in.").waitFor();
        expect(await login.ended).toBe(0);
        expect(login.output.text).toContain(`as ${user.email}`);
        expect(requested.filter((url) => url.includes(code) || url.includes(code.toLowerCase()))).toEqual([]);
        const whoami = login.run("whoami");
        const seen = collect(whoami);
        await new Promise((resolve) => whoami.once("close", resolve));
        expect(seen.text).toContain(user.email);
        await visitor.go("/profile");
        const row = page.getByRole("row").filter({ hasText: "CLI: Ada’s laptop" });
        await row.getByRole("button", { name: /End/ }).click();
        await visitor.gone(row);
        const after = login.run("whoami");
        expect(await new Promise((resolve) => after.once("close", resolve))).toBe(3);
      } finally {
        login.stop();
      }
    },
  );

  visit("a person who did not start it refuses, and the command line ends", async (visitor) => {
    const { page } = visitor;
    const user = await signedInAs(visitor.cluster, "platform-admin");
    const login = startLogin(visitor, "--no-browser");
    try {
      const code = await login.code();
      await visitor.signIn(user, "/activate");
      await page.getByLabel("Code that the command line shows").fill(code);
      await page.getByRole("button", { name: "Continue" }).click();
      await page.getByRole("button", { name: "No, refuse it" }).click();
      await page.getByText("Ada’s laptop was refused.").waitFor();
      expect(await login.ended).toBe(4);
      expect(login.output.text).toContain("refused in the browser");
      expect(login.openedAddress()).toBeNull();
    } finally {
      login.stop();
    }
  });

  visit("a code that was typed wrong too often says how long to wait, and stays in its field", async (visitor) => {
    const { page } = visitor;
    await visitor.signIn(await signedInAs(visitor.cluster, "platform-admin"), "/activate");
    // The limit counts an address, which all tests share.
    let wrong = 0;
    await page.route("**/api/v1/auth/device/lookup", (route) => {
      const isOver = ++wrong > 10;
      const json = { code: isOver ? "rate_limited" : "invalid_user_code", error: "Refused", requestId: "r-1" };
      return route.fulfill({ status: isOver ? 429 : 400, headers: isOver ? { "retry-after": "300" } : {}, json });
    });
    const code = page.getByLabel("Code that the command line shows");
    await code.fill("BBBB-BBBB");
    for (let nth = 1; nth <= 11; nth++) {
      const answer = page.waitForResponse(/device\/lookup/);
      await page.getByRole("button", { name: "Continue" }).click();
      await answer;
    }
    await page.getByText("Too many attempts. Try again in 5 minutes.").waitFor();
    expect(await code.inputValue()).toBe("BBBB-BBBB");
    await visitor.expectAccessibleAtBothWidths();
  });
});
