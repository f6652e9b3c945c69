import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createServer as createHttps } from "node:https";
import type { Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer as createTls } from "node:tls";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { listening, testCaFile, testCertificate, until } from "@muster/testing";
import type { Cluster } from "../support/cluster.ts";
import { totpAt, totpCode } from "../support/operator.ts";
import { claimReceiverPort, startReceiver } from "../support/receiver.ts";
import { sharedCluster } from "../support/shared-cluster.ts";
import { newOrganization, newPartner, signedInAs, type TestUser } from "../support/users.ts";

const program = fileURLToPath(new URL("../../../deploy/cli/muster.mjs", import.meta.url));

type Ended = { code: number | null; stdout: string; stderr: string };

let cluster: Cluster;
let folder: string;
let orgId: string;
let ada: TestUser;
let secret: string;
beforeAll(async () => {
  cluster = await sharedCluster();
  folder = await mkdtemp(join(tmpdir(), "muster-cli-"));
  orgId = await newOrganization(cluster, await newPartner(cluster));
  ada = await signedInAs(cluster, "org-admin", { orgId });
}, 180_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

function start(args: readonly string[], env: Record<string, string> = {}) {
  const own = {
    PATH: process.env.PATH ?? "",
    HOME: folder,
    MUSTER_URL: cluster.url,
    MUSTER_CONFIG_DIR: join(folder, "config"),
  };
  const child = spawn(process.execPath, [program, ...args], { env: { ...own, ...env } });
  const output = { stdout: "", stderr: "" };
  child.stdout.on("data", (chunk) => {
    output.stdout += chunk;
  });
  child.stderr.on("data", (chunk) => {
    output.stderr += chunk;
  });
  const ended = new Promise<Ended>((resolve) => child.once("close", (code) => resolve({ code, ...output })));
  return { child, output, ended };
}

async function muster(
  args: readonly string[],
  { input = "", env = {} }: { input?: string; env?: Record<string, string> } = {},
) {
  const { child, ended } = start(args, env);
  child.stdin.end(input);
  return ended;
}

/** Runs a command of a page as it stands there. */
async function shell(command: string): Promise<Ended> {
  const npx = `npx() { shift; "${process.execPath}" "${program}" "$@"; }`;
  const env = { PATH: process.env.PATH ?? "", HOME: folder, MUSTER_URL: cluster.url };
  const child = spawn("sh", ["-c", `${npx}\n${command}`], {
    env: { ...env, MUSTER_CONFIG_DIR: join(folder, "config") },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const output = { stdout: "", stderr: "" };
  child.stdout.on("data", (chunk) => {
    output.stdout += chunk;
  });
  child.stderr.on("data", (chunk) => {
    output.stderr += chunk;
  });
  return new Promise((resolve) => child.once("close", (code) => resolve({ code, ...output })));
}

/** The JSON that a command printed; fails with its other output. */
async function json<T = Record<string, unknown>>(
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<T> {
  const { code, stdout, stderr } = await muster([...args, "--json"], { env });
  if (code !== 0) throw new Error(`muster ${args.join(" ")} ended with ${code}: ${stderr}`);
  return JSON.parse(stdout) as T;
}

/** The code only when it is prompted for: a second prompt at the end of input is wrong usage. */
const login = (password: string, code?: string) =>
  muster(["login", "--email", ada.email], { input: `${[password, ...(code ? [code] : [])].join("\n")}\n` });
const stored = () => join(folder, "config", "credentials.json");

describe("muster login", () => {
  it("keeps the session in a file of mode 0600, and names muster login to a user who is not signed in", async () => {
    expect(await muster(["whoami"])).toMatchObject({ code: 3, stderr: expect.stringContaining("muster login") });
    const wrong = await login("not the password");
    expect(wrong).toMatchObject({ code: 3, stderr: expect.stringContaining("invalid_credentials") });
    expect(await login(ada.password)).toMatchObject({ code: 0, stdout: "" });
    expect((await stat(stored())).mode & 0o777).toBe(0o600);
    const early = await muster(["create", "api-keys", "--org", orgId, "name=Early", "--yes"]);
    expect(early).toMatchObject({ code: 4, stderr: expect.stringMatching(/mfa_required[\s\S]*muster mfa enroll/) });
  });

  it("asks for the code of an app that muster mfa enroll made known", async () => {
    const { child, output, ended } = start(["mfa", "enroll", "--yes"]);
    child.stdin.write(`${ada.password}\n`);
    secret = await until("the secret", () => /secret +([A-Z2-7]+)\n/.exec(output.stderr)?.[1] ?? null);
    child.stdin.end(`${totpCode(secret)}\n`);
    expect(await ended).toMatchObject({ code: 0, stdout: expect.stringMatching(/^(\S+\n){8,}$/) });
    expect(await muster(["logout"])).toMatchObject({ code: 0 });
    // The enrollment used the code of this half minute.
    const right = await login(ada.password, totpAt(secret, Date.now() + 30_000));
    expect(right).toMatchObject({
      code: 0,
      stdout: "",
      stderr: expect.stringContaining("Code of the authenticator app"),
    });
    expect(right.stderr).toContain(`Signed in at ${cluster.url} as ${ada.email}`);
    expect(await json(["whoami"])).toMatchObject({ url: cluster.url, email: ada.email, orgId, mfaEnabled: true });
  });

  it("lasts: commands that find the access token expired together all go on, on one session", async () => {
    const before = JSON.parse(await readFile(stored(), "utf8")) as {
      sessions: Record<string, { accessToken: string }>;
    };
    const session = before.sessions[cluster.url] as { accessToken: string };
    session.accessToken = `${session.accessToken.slice(0, -8)}AAAAAAAA`;
    await writeFile(stored(), JSON.stringify(before), { mode: 0o600 });
    const runs = await Promise.all([1, 2, 3].map(() => muster(["whoami", "--json"])));
    expect(runs.map(({ code, stderr }) => [code, stderr])).toEqual(Array(3).fill([0, ""]));
    expect((await stat(stored())).mode & 0o777).toBe(0o600);
    expect(await json<unknown[]>(["get", "sessions"])).toHaveLength(2);
  });
});

describe("muster devices add", () => {
  it("shows the line for each system and a key, and names the machine that joins with it", async () => {
    const { output, ended } = start(["devices", "add", "--org", orgId, "--wait", "60"]);
    const key = await until("the key", () => /enrollment key: ([0-9a-f]{64})/.exec(output.stdout)?.[1] ?? null);
    expect(output.stdout).toContain(`curl -fsSL ${cluster.url}/install.sh | sudo sh`);
    expect(output.stdout).toContain(`irm ${cluster.url}/install.ps1 | iex`);
    const body = { enrollmentKey: key, hostname: "added", os: "linux", arch: "amd64", agentVersion: "1.0.0" };
    const headers = { "content-type": "application/json" };
    const init = { method: "POST", headers, body: JSON.stringify(body) };
    const enrolled = await fetch(`${cluster.url}/api/v1/agents/enroll`, init);
    expect(enrolled.status).toBe(201);
    const { deviceId } = (await enrolled.json()) as { deviceId: string };
    const { code, stdout } = await ended;
    expect([code, stdout]).toEqual([0, expect.stringContaining(`added has joined: offline, device ${deviceId}`)]);
    const { enrollmentKeyId } = await json<{ enrollmentKeyId: string }>(["get", "devices", deviceId]);
    expect((await muster(["delete", "enrollment-keys", enrollmentKeyId, "--yes"])).code).toBe(0);
    expect(await json(["get", "devices", deviceId])).toMatchObject({ enrollmentKeyId: null });
  });

  it("names the likely causes when no machine joins in time", async () => {
    const { code, stderr } = await muster(["devices", "add", "--org", orgId, "--wait", "1"]);
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/no machine has joined within 1 s[\s\S]*1\.[\s\S]*2\.[\s\S]*3\./),
    ]);
  });
});

describe("muster status", () => {
  it("shows what needs attention, and says when nothing does", async () => {
    expect(await muster(["status", "--org", orgId])).toEqual({
      code: 0,
      stdout: "",
      stderr: "Nothing needs attention\n",
    });
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
    const key = await json<{ id: string }>([
      "create",
      "api-keys",
      "name=Ends",
      `expiresAt=${expiresAt}`,
      "--org",
      orgId,
      "--yes",
    ]);
    const shown = await muster(["status"]);
    expect(shown).toMatchObject({ code: 0, stdout: expect.stringMatching(/^KIND +RECORD +ID .*\napi_key +Ends +/) });
    // The organization by its name.
    expect(shown.stdout).not.toContain(orgId);
    expect(shown.stdout).toContain("rotate it before the programs that use it stop.");
    expect(await json(["status"])).toMatchObject({
      data: [{ kind: "api_key", record: { id: key.id } }],
      unknownKinds: [],
    });
    expect(await muster(["status", "--org", randomUUID()])).toMatchObject({
      code: 5,
      stderr: expect.stringContaining("organization_not_found"),
    });
    expect((await muster(["delete", "api-keys", key.id, "--yes"])).code).toBe(0);
  });
});

describe("records", () => {
  it("are created, listed page by page, shown, changed and deleted", async () => {
    const site = await json([
      "create",
      "sites",
      "name=Berlin",
      "timezone=Europe/Berlin",
      "contact.email=it@example.com",
      "--org",
      orgId,
    ]);
    expect(site).toMatchObject({ orgId, name: "Berlin", contact: { email: "it@example.com" } });
    const id = String(site.id);
    for (let at = 0; at < 100; at += 20) {
      const names = Array.from({ length: 20 }, (_, index) => `Site ${at + index}`);
      await Promise.all(names.map((name) => ada.api.call("POST", "/orgs/sites", { orgId, name })));
    }
    const listed = await muster(["get", "sites", "--limit", "2"]);
    expect(listed).toMatchObject({ code: 0, stderr: expect.stringContaining("There are more") });
    expect(listed.stdout.split("\n")).toEqual([
      expect.stringMatching(/^ID +NAME +TIMEZONE +ORGID$/),
      expect.stringMatching(new RegExp(`^${id} +Berlin`)),
      expect.any(String),
      "",
    ]);
    expect(await json<unknown[]>(["get", "sites", "--all", "--org", orgId])).toHaveLength(101);
    expect(await json(["update", "site", id, "name=Bonn"])).toMatchObject({ id, name: "Bonn" });
    expect(await json(["get", "sites", id])).toMatchObject({ id, name: "Bonn" });
    expect(await muster(["delete", "sites", id])).toMatchObject({ code: 2, stderr: expect.stringContaining("--yes") });
    expect(await json(["get", "sites", id])).toMatchObject({ id, name: "Bonn" });
    expect(await muster(["delete", "sites", id, "--yes"])).toMatchObject({ code: 0, stdout: "" });
    expect(await muster(["get", "sites", randomUUID()])).toMatchObject({
      code: expect.any(Number),
      stderr: expect.stringMatching(/\([a-z_]+, request /),
    });
  });

  it("name field, code and request", async () => {
    const refused = await muster(["create", "sites", "name=", "timezone=Mars", "--org", orgId]);
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toMatch(/validation_failed, request [^)]+\)\n {2}name: .+\n {2}timezone: .+\n/);
    expect(await muster(["get", "partners"])).toMatchObject({
      code: 4,
      stderr: expect.stringContaining("scope_not_allowed"),
    });
  });
});

it("muster keys rotate replaces a key: the old one is refused, the new one is shown once", async () => {
  const made = await json(["create", "api-keys", "--org", orgId, "name=Inventory", "scopes[]=sites:read", "--yes"]);
  const { key } = await json(["keys", "rotate", String(made.id), "--yes"]);
  const as = (value: unknown) => ({ MUSTER_API_KEY: String(value) });
  expect(await muster(["whoami"], { env: as(made.key) })).toMatchObject({
    code: 3,
    stderr: expect.stringContaining("api_key_invalid"),
  });
  expect(await json(["whoami"], as(key))).toMatchObject({ actorType: "api_key", orgId });
  expect(await muster(["keys", "check"], { input: `${key}\n` })).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("well-formed"),
  });
  expect(await muster(["get", "devices"], { env: as(key) })).toMatchObject({
    code: 4,
    stderr: expect.stringContaining("insufficient_scope"),
  });
});

it("muster audit verify judges the chain at the API, and an export without it", async () => {
  expect(await muster(["audit", "verify", "--org", orgId])).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/OK rows 1-\d+[\s\S]*\nOK\n$/),
  });
  const file = join(folder, "export.jsonl");
  expect(await muster(["audit", "export", "--org", orgId, "--output", file])).toMatchObject({ code: 0, stdout: "" });
  const nowhere = { MUSTER_URL: "http://127.0.0.1:1" };
  expect(await muster(["audit", "verify", file], { env: nowhere })).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/\nOK\n$/),
  });
  await writeFile(file, (await readFile(file, "utf8")).replace("Inventory", "Inventary"));
  expect(await muster(["audit", "verify", file], { env: nowhere })).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/\nNOT OK\n$/),
  });
});

it("muster audit export --parts writes every row and verifies it; what is cut later is a failure", async () => {
  const parts = join(folder, "parts");
  const exported = await muster(["audit", "export", "--org", orgId, "--parts", parts]);
  expect(exported).toMatchObject({ code: 0, stdout: expect.stringMatching(/OK rows 1-\d+[\s\S]*\nOK\n$/) });
  const [, id = ""] = /export (\S+): done/.exec(exported.stderr) ?? [];
  const nowhere = { MUSTER_URL: "http://127.0.0.1:1" };
  expect(await muster(["audit", "verify", parts], { env: nowhere })).toMatchObject({ code: 0 });
  await rm(join(parts, "part-000001.jsonl.gz"));
  expect(await muster(["audit", "verify", parts], { env: nowhere })).toMatchObject({
    code: 1,
    stdout: expect.stringContaining("part 1 is missing"),
  });
  await writeFile(join(parts, "part-000001.jsonl.gz"), "cut");
  const resumed = ["audit", "export", "--parts", parts, "--resume", id];
  expect(await muster(resumed)).toMatchObject({ code: 0 });
  expect(await muster(["delete", "audit-exports", id, "--yes"])).toMatchObject({ code: 0 });
  expect(await muster(resumed)).toMatchObject({ code: 5, stderr: expect.stringContaining("not found") });
});

/** The command of a page in docs that has this text. */
async function commandOf(page: string, text: string): Promise<string> {
  const read = await readFile(new URL(`../../../docs/${page}`, import.meta.url), "utf8");
  const commands = [...read.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, command = ""]) => command.trimEnd());
  const command = commands.find((each) => each.includes(text));
  if (!command) throw new Error(`${page} has no command with ${text}`);
  return command;
}

const answering = (answer: string) => () =>
  createHttps(testCertificate(), (request, response) => {
    request.resume();
    request.on("end", () => response.end(answer));
  });
/** What each product documents that it answers a batch which it took. */
const products: Record<string, () => Server> = {
  Splunk: answering('{"text":"Success","code":0}'),
  Elastic: answering('{"took":3,"errors":false,"items":[]}'),
  Bucket: answering(""),
  // A receiver of syslog answers nothing, and closes in turn.
  Sentinel: () =>
    createTls(testCertificate(), (socket) => {
      socket.on("error", () => undefined);
      socket.resume();
    }),
};

it.each(Object.entries(products))(
  "the page about audit streams makes a stream to %s by its command, and tests it",
  async (name, product) => {
    const command = await commandOf("audit-streams.md", `name=${name} `);
    const { port, url, release } = await claimReceiverPort(cluster);
    const { close } = await listening(product(), port);
    const address = /(https|tls):\/\/[a-z0-9]+\.example\.com(?::\d+)?/;
    const sink = command.replace(address, `$1://${new URL(url).host}`).replace("ca.pem", testCaFile);
    const own = sink.replace("--org ORG ", `--org ${orgId} `);
    const { stdout, stderr, code } = await shell(`${own} --json`);
    expect([code, stderr]).toEqual([0, expect.anything()]);
    const { id } = JSON.parse(stdout) as { id: string };
    const state = () => json(["get", "audit-streams", id]);
    await muster(["create", "sites", "--org", orgId, `name=For ${name}`, "--yes"]);
    const done = await until("rows that were taken", async () => {
      const found = await state();
      return found.lagRows === 0 && Number(found.rowsSent) > 0 ? found : null;
    });
    expect(done).toMatchObject({ status: "active", lastError: null });
    expect(await muster(["audit", "test-stream", id])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(name === "Sentinel" ? /^accepted\n$/ : /^accepted, HTTP 200\n/),
    });
    await close();
    expect(await muster(["audit", "test-stream", id])).toMatchObject({
      code: 1,
      stdout: "not accepted\n",
      stderr: expect.stringContaining("the sink did not accept the row: "),
    });
    await muster(["delete", "audit-streams", id, "--yes"]);
    await release();
  },
  90_000,
);

it("the page about audit alerts makes an alert and its webhook by its commands, and saved views make others", async () => {
  const receiver = await startReceiver(cluster);
  const run = async (text: string) => {
    const command = (await commandOf("audit-alerts.md", text)).replace("ORGANIZATION", orgId).replace("USER", ada.id);
    const own = command.replace("https://hooks.example.com/alerts", receiver.url);
    const { stdout, stderr, code } = await shell(`${own} --json`);
    expect([code, stderr]).toEqual([0, expect.anything()]);
    return JSON.parse(stdout) as { id: string };
  };
  const webhook = await run("muster create webhooks");
  const made = await run("muster create audit-alerts");
  await signedInAs(cluster, "org-admin", { orgId });
  const fired = () => receiver.received.some(({ body }) => body.includes(made.id));
  await until("what the alert sends", fired, 60_000);
  expect(made).toMatchObject({ template: "new-administrator", orgId, notify: { webhook: true, mail: [ada.id] } });
  const view = ["create", "saved-views", "name=Sites", "resource=audit-logs", "query.action=site.create"];
  const { id: viewId } = await json<{ id: string }>(view);
  const searched = ["create", "audit-alerts", "--org", orgId, "name=Sites", `viewId=${viewId}`, "notify.webhook:=true"];
  const alert = await json<{ id: string }>(searched);
  expect(alert).toMatchObject({ query: { action: "site.create" }, template: null });
  expect(await json(["update", "audit-alerts", alert.id, "status=paused"])).toMatchObject({ status: "paused" });
  const listed = await json<{ id: string }[]>(["get", "audit-alerts", "--org", orgId]);
  expect(listed.map(({ id }) => id)).toEqual([alert.id, made.id]);
  for (const { id } of listed) expect((await muster(["delete", "audit-alerts", id, "--yes"])).code).toBe(0);
  expect((await muster(["delete", "saved-views", viewId, "--yes"])).code).toBe(0);
  expect((await muster(["delete", "webhooks", webhook.id, "--yes"])).code).toBe(0);
  await receiver.close();
}, 120_000);

it("muster audit append sends JSON lines, a hundred at a time, and each once", async () => {
  const line = (id: string) =>
    JSON.stringify({ id, action: "custom.invoice.approve", resource: { type: "invoice", id: "42" } });
  const input = Array.from({ length: 101 }, () => line(randomUUID())).join("\n");
  expect(await muster(["audit", "append", "--org", orgId], { input })).toMatchObject({
    code: 0,
    stdout: "101 events, 0 of them there before\n",
  });
  expect(await muster(["audit", "append", "--org", orgId], { input })).toMatchObject({
    stdout: "101 events, 101 of them there before\n",
  });
  expect(await muster(["audit", "append"], { input: "{" })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("line 1 is not JSON"),
  });
});

describe("muster webhooks listen", () => {
  it("shows and verifies deliveries through a webhook that it creates, and removes it at the end", async () => {
    const { port, url, release } = await claimReceiverPort(cluster);
    const { key, cert } = testCertificate();
    await writeFile(join(folder, "key.pem"), key);
    await writeFile(join(folder, "cert.pem"), cert);
    const tls = ["--cert", join(folder, "cert.pem"), "--key", join(folder, "key.pem")];
    const listen = ["webhooks", "listen", "--org", orgId, "--port", String(port), "--address", url, ...tls];
    try {
      const once = await muster([...listen, "--test", "--count", "1", "--json"]);
      expect(once).toMatchObject({
        code: 0,
        stderr: expect.stringContaining("Removed the webhook after 1 delivery"),
      });
      expect(JSON.parse(once.stdout)).toMatchObject({ verified: true, type: "webhook.test", attempt: 1 });
      const { child, output, ended } = start(listen);
      await until("the webhook", () => output.stderr.includes("Ctrl-C removes it"));
      expect(await json<unknown[]>(["get", "webhooks", "--org", orgId])).toHaveLength(1);
      child.kill("SIGINT");
      expect(await ended).toMatchObject({ code: 0, stdout: "" });
      expect(await json(["get", "webhooks", "--org", orgId])).toEqual([]);
    } finally {
      await release();
    }
  });

  it("says what to do when the deployment does not reach the address", async () => {
    const { port, release } = await claimReceiverPort(cluster);
    try {
      const refused = await muster([
        "webhooks",
        "listen",
        "--org",
        orgId,
        "--port",
        String(port),
        "--address",
        `http://127.0.0.1:${port}/`,
      ]);
      expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("EGRESS_TEST_EXCEPTIONS=") });
    } finally {
      await release();
    }
  });
});

it("muster webhooks event-types defines, lists and archives own event types", async () => {
  const file = join(folder, "order.schema.json");
  await writeFile(file, JSON.stringify({ type: "object", required: ["total"] }));
  const types = ["webhooks", "event-types"];
  const create = [...types, "create", "custom.cli_order", "description=An order", "--org", orgId];
  expect(await muster([...create, "--schema", file, 'example:={"total":1}'])).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^type +custom\.cli_order\n[\s\S]*source +custom\n/),
  });
  expect(await muster(create)).toMatchObject({ code: 1, stderr: expect.stringContaining("event_type_exists") });
  const posting = ["create", "events", "type=custom.cli_order", "data:={}", "--org", orgId];
  expect(await muster(posting)).toMatchObject({ code: 1, stderr: expect.stringContaining("\n  data") });
  expect(await json([...types, "update", "custom.cli_order", "archived:=true", "--org", orgId])).toMatchObject({
    archived: true,
    schema: { required: ["total"] },
  });
  expect((await muster([...types, "list", "--org", orgId])).stdout).toMatch(
    /^TYPE +DESCRIPTION +VERSION +SCHEMA +ARCHIVED\ncustom\.cli_order +An order +- +yes +true\n$/,
  );
  const platform = await json<{ type: string }[]>([...types, "list", "--source", "platform"]);
  expect(platform.map(({ type }) => type)).toContain("device.online");
  await writeFile(file, "{");
  expect(await muster([...types, "update", "custom.cli_order", "--schema", file])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(`"${file}" is not JSON`),
  });
});

it("muster create portal-links prints the address with its code once", async () => {
  const created = await json(["create", "portal-links", "--org", orgId, "name=Developers", "--yes"]);
  expect(created.portalUrl).toMatch(new RegExp(`/portal/${created.id}#code=`));
  const listed = await muster(["get", "portal-links", "--org", orgId]);
  expect(listed).toMatchObject({ code: 0, stdout: expect.stringContaining(String(created.id)) });
  expect(listed.stdout).not.toContain("#code=");
  expect(await muster(["delete", "portal-links", String(created.id), "--yes"])).toMatchObject({ code: 0 });
  const [row] = await json<{ revokedAt: string | null }[]>(["get", "portal-links", "--org", orgId]);
  expect(row?.revokedAt).toEqual(expect.any(String));
});

it("completion for bash offers resources and filters", async () => {
  const script = `muster() { "${process.execPath}" "${program}" "$@"; }
source <(muster completion bash)
complete_line() { COMP_LINE=$1; COMP_POINT=\${#COMP_LINE}; read -ra COMP_WORDS <<< "$1"; COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); _muster; printf '%s\\n' "\${COMPREPLY[@]}"; }
complete_line 'muster get webh'
complete_line 'muster get devices stat'`;
  const child = spawn("bash", ["-c", script], { env: { PATH: process.env.PATH } });
  let offered = "";
  for await (const chunk of child.stdout) offered += String(chunk);
  expect(offered).toBe("webhooks\nstatus=\n");
});

it("muster logout ends the session at the API, too", async () => {
  const session = (
    JSON.parse(await readFile(stored(), "utf8")) as { sessions: Record<string, { refreshToken: string }> }
  ).sessions[cluster.url];
  expect(await muster(["logout"])).toMatchObject({ code: 0 });
  expect((await muster(["whoami"])).code).toBe(3);
  const refresh = await ada.api.call("POST", "/auth/refresh", { refreshToken: session?.refreshToken });
  expect(refresh.status).toBe(401);
});
