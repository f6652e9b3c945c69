import { randomUUID } from "node:crypto";
import { expect } from "@jest/globals";
import { api } from "../../support/client.ts";
import { resetTokenOf } from "../../support/mailbox.ts";
import { totpCode } from "../../support/operator.ts";
import { enrollTotp, operator, roleId, signedInAs, type TestUser, tokenOf } from "../../support/users.ts";
import { inChromium, type Visitor } from "./visitor.ts";

const password = "a new password for the browser";

async function signIn({ page }: Visitor, user: Pick<TestUser, "email" | "password">) {
  await page.getByLabel("E-mail").fill(user.email);
  await page.getByLabel("Password").fill(user.password);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
}

const isSignedIn = ({ page }: Visitor) => page.getByRole("button", { name: "Sign out" }).waitFor();

inChromium("signing in to the console", (visit) => {
  visit("a person signs in by keyboard alone, stays signed in over a reload, and signs out", async (visitor) => {
    const { cluster, page, context } = visitor;
    const user = await signedInAs(cluster, "platform-admin");
    await visitor.open("/devices?status=offline", "Sign in");
    expect(new URL(page.url()).searchParams.get("next")).toBe("/devices?status=offline");
    await visitor.expectAccessible();
    await page.getByLabel("E-mail").focus();
    await page.keyboard.type(user.email);
    await page.keyboard.press("Tab");
    await page.keyboard.type(user.password);
    await page.keyboard.press("Enter");
    await isSignedIn(visitor);
    expect(page.url()).toBe(`${visitor.base}/devices?status=offline`);
    const [cookie] = await context.cookies();
    expect(cookie).toMatchObject({ name: "service_session", httpOnly: true, sameSite: "Strict", path: "/" });
    const stored = await page.evaluate("JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])");
    expect(stored).not.toContain(cookie?.value);
    expect(stored).not.toMatch(/eyJ/);
    await page.reload();
    await isSignedIn(visitor);
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByText("You are signed out.").waitFor();
    expect(await context.cookies()).toEqual([]);
    const before = await api(cluster).call("POST", "/auth/refresh", { refreshToken: cookie?.value });
    expect(before.status).toBe(401);
    await visitor.open("/", "Sign in");
  });

  visit("a wrong password is said in one sentence, and too many attempts count down", async (visitor) => {
    const { cluster, page } = visitor;
    const user = await signedInAs(cluster, "platform-admin");
    await visitor.open("/login", "Sign in");
    await signIn(visitor, { email: user.email, password: "wrong" });
    await page.getByText("E-mail or password is wrong.").waitFor();
    const wrong = () => api(cluster).call("POST", "/auth/login", { email: user.email, password: "wrong" });
    for (let attempt = 0; attempt < 10; attempt++) await wrong();
    await signIn(visitor, { email: user.email, password: "wrong" });
    await page.getByText(/Too many attempts. Try again in \d+ (seconds|minutes)/).waitFor();
    await page.getByRole("button", { name: /^Wait \d+ s$/ }).waitFor();
    await visitor.expectAccessible();
  });

  visit("a second factor completes a sign-in: a wrong code is refused, a recovery code works", async (visitor) => {
    const { cluster, page } = visitor;
    const user = await signedInAs(cluster, "platform-admin");
    const { recoveryCodes } = await enrollTotp(user);
    await visitor.open("/login", "Sign in");
    await signIn(visitor, user);
    await page.getByRole("heading", { name: "Second factor" }).waitFor();
    await visitor.expectAccessible();
    await page.getByLabel("Code from your app").fill("000000");
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByText("The code is wrong or was used already.").waitFor();
    await page.getByRole("button", { name: "Use a recovery code" }).click();
    await page.getByLabel("Recovery code").fill(recoveryCodes[0] ?? "");
    await page.getByRole("button", { name: "Continue" }).click();
    await isSignedIn(visitor);
  });

  visit("a passkey that was added in the profile completes the next sign-in", async (visitor) => {
    const { cluster, page, context } = visitor;
    const devtools = await context.newCDPSession(page);
    await devtools.send("WebAuthn.enable");
    await devtools.send("WebAuthn.addVirtualAuthenticator", {
      options: {
        protocol: "ctap2",
        transport: "internal",
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true,
      },
    });
    const user = await signedInAs(cluster, "platform-admin");
    await visitor.open("/login?next=/profile", "Sign in");
    await signIn(visitor, user);
    await page.getByRole("heading", { level: 1, name: "Profile" }).waitFor();
    await page.getByRole("button", { name: "Add a passkey" }).click();
    await page.getByLabel("Name").fill("Laptop");
    await page.getByLabel("Your password").fill(user.password);
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByLabel("I have stored it").check();
    await page.getByRole("button", { name: "Close" }).click();
    await page.getByRole("rowheader", { name: "Laptop" }).waitFor();
    await visitor.expectAccessible();
    // An authenticator app in addition brings no further recovery codes.
    await page.getByRole("button", { name: "Add an authenticator app" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Your password").fill(user.password);
    await dialog.getByRole("button", { name: "Continue" }).click();
    const secret = ((await dialog.locator("pre").textContent()) ?? "").replaceAll(" ", "");
    await dialog.getByLabel("The six digits that the app shows").fill(totpCode(secret));
    await dialog.getByRole("button", { name: "Turn on" }).click();
    await page.getByRole("button", { name: "Remove the authenticator app …" }).waitFor();
    await page.getByRole("row", { name: /^Recovery codes 10 left/ }).waitFor();
    await page.getByRole("button", { name: "Make new ones …" }).click();
    await dialog.getByRole("button", { name: "Make new ones" }).click();
    await dialog.getByLabel("I have stored it").check();
    await visitor.expectAccessible();
    await dialog.getByRole("button", { name: "Close" }).click();
    await page.getByRole("button", { name: "Change your name …" }).click();
    await dialog.getByLabel("Name").fill("Ada King");
    await dialog.getByRole("button", { name: "Change" }).click();
    await page.getByRole("definition").filter({ hasText: "Ada King" }).waitFor();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByText("You are signed out.").waitFor();
    await signIn(visitor, user);
    await page.getByRole("button", { name: "Use a passkey" }).click();
    await isSignedIn(visitor);
  });
});

inChromium("links of mails", (visit) => {
  visit("an invited person sets name and password, by a link behind # or the older one", async (visitor) => {
    const { cluster, page } = visitor;
    const root = await operator(cluster);
    for (const mark of ["#", "?"]) {
      const email = `invited-${randomUUID()}@example.com`;
      const wanted = { email, name: "Invited", roleId: await roleId(root, "platform-admin") };
      const { body } = await root.call("POST", "/users", wanted);
      const token = tokenOf(body.inviteUrl);
      await visitor.open(`/accept-invite${mark}token=${token}`, "Accept your invitation");
      expect(page.url()).toBe(`${visitor.base}/accept-invite`);
      await page.getByText(`invites ${email} to administer this platform.`).waitFor();
      // By keyboard alone.
      await page.getByLabel("Your name").focus();
      await page.keyboard.press("Control+a");
      await page.keyboard.type("Ada Lovelace");
      await page.getByLabel("New password").focus();
      await page.keyboard.type(password);
      if (mark === "#") await visitor.expectAccessible();
      await page.keyboard.press("Enter");
      await page.getByText("Your account is ready.").waitFor();
      await signIn(visitor, { email, password });
      await page.getByRole("link", { name: "Ada Lovelace" }).waitFor();
      await page.getByRole("button", { name: "Sign out" }).click();
      await page.getByText("You are signed out.").waitFor();
      await visitor.open(`/accept-invite${mark}token=${token}`, "Accept your invitation");
      await page.getByText("This link does not work any more").waitFor();
      expect(await page.getByLabel("New password").count()).toBe(0);
    }
  });

  visit("a forgotten password is replaced by the mail's link", async (visitor) => {
    const { cluster, page } = visitor;
    const user = await signedInAs(cluster, "platform-admin");
    await visitor.open("/login", "Sign in");
    await page.getByRole("link", { name: "Forgot your password?" }).click();
    await page.getByLabel("E-mail").fill(user.email);
    await visitor.expectAccessible();
    await page.getByRole("button", { name: "Send me a link" }).click();
    await page.getByText("a link is on its way").waitFor();
    const token = await resetTokenOf(cluster, user.email);
    await visitor.open(`/reset-password#token=${token}`, "Set a new password");
    await page.getByLabel("New password").fill(password);
    await page.getByRole("button", { name: "Set password" }).click();
    await page.getByText("Your password is set.").waitFor();
    await signIn(visitor, { email: user.email, password });
    await isSignedIn(visitor);
  });
});
