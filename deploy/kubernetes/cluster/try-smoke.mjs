import { spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { ask, bash, call, dir, gateway, helm, keys, must, program, root, say, until } from "./client.mjs";

const otp = createRequire(join(root, "gateway/package.json"))("otpauth");
const codeOf = (secret) => new otp.TOTP({ secret: otp.Secret.fromBase32(secret) }).generate();
const secretFile = join(dir, "totp");

/** The commands of the chart's README between installation and first partner, as its reader types them. */
export async function readme() {
  const text = readFileSync(join(root, "charts/muster/README.md"), "utf8");
  const [, commands] = /as the chart's notes say[\s\S]*?```sh\n([\s\S]*?)```/.exec(text);
  const args = ["kubectl", "-n", "muster", "port-forward", "service/muster-gateway", "3000:80"];
  const forward = spawn("kubebox", args, { stdio: "ignore" });
  try {
    await until("the forwarded port", async () => (await fetch("http://localhost:3000/health")).status === 200);
    const answer = await bash(`kubectl() { kubebox kubectl "$@"; }\n${commands}`);
    must(/"slug":"acme"/.test(answer), `the README ends with the first partner: ${answer}`);
  } finally {
    forward.kill();
  }
  say("the README's commands end with the first partner");
}

/** The administrator's access token; the second factor is the one that this trial set up. */
export async function signIn() {
  const password = keys().adminPassword;
  const { mfaRequired, mfaToken, accessToken } = await ask("POST", "/auth/login", {
    email: "admin@muster.local",
    password,
  });
  if (!mfaRequired) return accessToken;
  const code = codeOf(readFileSync(secretFile, "utf8"));
  return (await ask("POST", "/auth/mfa/verify", { mfaToken, code })).accessToken;
}

/**
 * The README's path through the Service: sign in, a partner and its audit row, an organization, agents that are online.
 */
export async function smoke(session) {
  const health = await until("a healthy gateway", async () => {
    const answer = await (await fetch(`${gateway}/health`)).json();
    return answer.status === "ok" && answer;
  });
  must(Object.keys(health.services).length === 6, "the gateway's health names six services");
  await helm("test", "muster", "--timeout", "3m");
  say("helm test: PostgreSQL, a message through NATS, health and the sign-in page");
  // A cluster that was kept has the factor of the trial before.
  const first = !existsSync(secretFile);
  if (first) await readme();
  const accessToken = await signIn();
  session.token = accessToken;
  const slug = `trial-${Date.now()}`;
  session.partner = await ask("POST", "/orgs/partners", { name: "Trial", slug }, accessToken);
  await until("the partner's sealed audit row", async () => {
    const { data } = await ask("GET", "/audit-logs/logs?action=partner.create", undefined, accessToken);
    return data.find((row) => JSON.stringify(row).includes(session.partner.id));
  });
  say("signed in; a partner was created and its audit row is sealed");
  if (first) {
    const { adminPassword: password } = keys();
    const { secret } = await ask("POST", "/auth/mfa/totp/setup", { password }, accessToken);
    await ask("POST", "/auth/mfa/totp/enable", { code: codeOf(secret) }, accessToken);
    writeFileSync(secretFile, secret, { mode: 0o600 });
  }
  const organization = { partnerId: session.partner.id, name: "Trial", slug };
  session.org = await ask("POST", "/orgs/organizations", organization, accessToken);
  const { key } = await until("an enrollment key", () =>
    ask("POST", "/enrollment-keys", { orgId: session.org.id, name: "Trial", maxUsage: 20 }, accessToken),
  );
  const state = join(dir, `agents-${slug}.jsonl`);
  const options = ["--url", gateway, "--enrollment-key", key, "--count", "5", "--interval", "2", "--state", state];
  session.agents = program("deploy/agent-sim/dist/main.js", ...options);
  await until("five agents online", async () => {
    const { data } = await ask("GET", `/devices?status=online&orgId=${session.org.id}`, undefined, accessToken);
    return data.length === 5;
  });
  const device = (await ask("GET", `/devices?status=online&orgId=${session.org.id}`, undefined, accessToken)).data[0]
    .id;
  const live = await until("a live query answered through NATS", async () => {
    const answer = await call("GET", `/system-tools/devices/${device}/eventlogs`, undefined, accessToken);
    return answer.status === 200 && answer;
  });
  must(JSON.stringify(live.body).includes("System"), "the device lists its event logs");
  say("five simulated agents enrolled, are online, and one answered a live query");
}
