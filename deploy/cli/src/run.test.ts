import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { access } from "@muster/client/access";
import type { Command } from "commander";
import { candidates } from "./completion.ts";
import { exitCodeOf } from "./failure.ts";
import { programOf } from "./program.ts";
import { resources } from "./resources.ts";
import { run } from "./run.ts";

/**
 * Runs the tool without stored credentials; returns its exit code and what it wrote. With `typed` its input is a
 * terminal.
 */
async function muster(args: string[], env: Record<string, string> = {}, typed: string | null = null) {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const stdin = Object.assign(new PassThrough(), typed === null ? {} : { isTTY: true });
  if (typed !== null) stdin.end(`${typed}\n`);
  const code = await run(args, {
    env: { MUSTER_CONFIG_DIR: join(tmpdir(), "muster-nowhere"), ...env },
    stdin,
    stdout,
    stderr,
  });
  return { code, stdout: String(stdout.read() ?? ""), stderr: String(stderr.read() ?? "") };
}

const program = programOf({ env: {}, stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() });
const commandsOf = (command: Command): Command[] =>
  command.commands.flatMap((each) => (each.commands.length > 0 ? commandsOf(each) : [each]));
const pathOf = (command: Command): string[] =>
  command.parent?.parent ? [...pathOf(command.parent), command.name()] : [command.name()];

describe("help", () => {
  it.each(
    commandsOf(program)
      .map(pathOf)
      .filter(([name]) => name !== "__complete"),
  )("for %s %s has an example", async (...path: string[]) => {
    const { code, stdout } = await muster([...path.filter(Boolean), "--help"]);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/Example:\n {2}\$ .*muster /)]);
  });

  it("lists every command, and none that is internal", async () => {
    const { code, stdout } = await muster([]);
    expect([code, stdout]).toEqual([0, expect.stringContaining("whoami")]);
    expect(stdout).not.toContain("__complete");
  });
});

describe("wrong usage exits with 2 and suggests what was meant", () => {
  it.each([
    [["whoam"], "Did you mean whoami?"],
    [["get", "devises"], 'did you mean "devices"?'],
    [["get", "devices", "--limt", "3"], "Did you mean --limit?"],
    [["get", "devices", "staus=offline"], 'no filter "staus"'],
    [["get", "devices", "status=offline", "status=online"], 'filter "status" twice'],
    [["get", "devices", "--limit", "none"], "--limit takes a whole number"],
    [["get", "deliveries"], "name it with --of ID"],
    [["create", "devices"], "cannot create one of devices"],
    [["create", "sites", "Berlin"], '"Berlin" is not name=text'],
    [["create", "sites", "nmae=Berlin"], 'no field "nmae"; did you mean "name"?'],
    [["create", "partners", "--org", "some-id"], 'no field "orgId"'],
    [["update", "webhooks", "some-id", 'headers:=[{"kye":"a"}]'], 'no field "headers.kye"; did you mean "key"?'],
    [["get", "sites", ""], "the id is empty"],
    [["update", "sites", "", "name=a"], "the id is empty"],
    [["delete", "sites", "", "--yes"], "the id is empty"],
    [["users", "disable", " ", "--yes"], "the id is empty"],
    [["get", "sites", "some-id", "search=a"], "an id takes no filters"],
    [["keys"], "rotate"],
    [["keys", "rotate"], "missing required argument 'id'"],
    [["keys", "rotate", "id", "--kind", "door"], "--kind is one of api, principal, enrollment, webhook"],
    [["keys", "rotate", "id", "--grace", "1h"], '--grace takes whole seconds, not "1h"'],
    [["devices", "bulk", "update", "a", "status=online", "--yes"], "either ids, or --org and filters"],
    [["devices", "bulk", "update", "a", "--yes"], "an update takes --site or --auto-update"],
    [["devices", "bulk", "update", "a", "--site", "b"], "without a terminal it needs --yes"],
    [["devices", "bulk", "move", "a", "--yes"], '"move" is none of'],
    [["keys", "rotate", "id", "--kind", "principal", "--grace", "60"], "--grace is for API keys and webhooks only"],
    [["audit", "export", "usr=ada"], 'no filter "usr"'],
    [["audit", "export", "q=ada"], 'no filter "q"'],
    [["audit", "export", "ada"], '"ada" is no filter'],
    [["audit", "export", "--resume", "some-id"], "--resume goes with --parts"],
    [["audit", "export", "--key", "muster-audit-1a2b3c+4d5e6f70+AR"], "--key goes with --parts"],
    [["audit", "export", "--parts", "nowhere", "--format", "csv"], "leave --output and --format out"],
    [["audit", "export", "--parts", "nowhere", "--resume", "some-id", "from=2026-01-01"], "has its filters"],
    [["releases", "policy", "sometimes"], "a policy is one of automatic, manual, none"],
    [["webhooks", "listen", "--cert", "a.pem"], "--cert and --key go together"],
    [["webhooks", "event-types", "list", "--source", "own"], "--source takes custom, platform, posted"],
    [["webhooks", "event-types", "create", "custom.a", "descripton=A"], 'did you mean "description"?'],
    [["webhooks", "event-types", "create", "custom.a", "--schema", "none.json"], "none.json cannot be read"],
    [["create", "sites", "--file", "none.json"], "none.json cannot be read"],
    [["webhooks", "event-types", "update"], "missing required argument 'type'"],
    [["completion", "elvish"], "no completion for elvish"],
    [["releases", "sync", "npm"], "a source is one of github, directory"],
    [["releases", "promote", "1.4.0", "--component", "door"], "--component is one of agent, watchdog, helper"],
    [["profiles", "use", "nowhere"], 'no profile "nowhere"'],
    [["whoami", "--profile", "a b"], "is no name of a profile"],
    [["whoami", "--url", "muster"], "is not an address"],
  ])("%j: %s", async (args, message) => {
    const { code, stdout, stderr } = await muster(args, { MUSTER_API_KEY: "svc_x", MUSTER_URL: "http://127.0.0.1:1" });
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(message);
  });
});

describe("a field that the operation does not have", () => {
  const writing = resources.flatMap(({ name, verbs }) => [
    ...(verbs.includes("create") ? [["create", name]] : []),
    ...(verbs.includes("update") ? [["update", name, "some-id"]] : []),
  ]);
  it.each(writing.map((args) => [args.join(" "), args] as const))("is refused by %s", async (_name, args) => {
    const env = { MUSTER_API_KEY: "svc_x", MUSTER_URL: "http://127.0.0.1:1" };
    const { code, stdout, stderr } = await muster([...args, "noSuchField=1", "--yes"], env);
    expect([code, stdout, stderr]).toEqual([2, "", expect.stringContaining('no field "noSuchField"')]);
  });
});

describe("deleting", () => {
  // No server listens there: a command that continues exits with 6.
  const env = { MUSTER_API_KEY: "svc_x", MUSTER_URL: "http://127.0.0.1:1" };
  it.each<[string, string[], string | null, number]>([
    ["asks at a terminal and does nothing without a yes", [], "no", 1],
    ["does it after a yes", [], "YES", 6],
    ["does not ask with --yes", ["--yes"], "", 6],
    ["is refused in a pipe", [], null, 2],
    ["is done in a pipe with --yes", ["--yes"], null, 6],
  ])("%s", async (_what, more, typed, code) => {
    const ran = await muster(["delete", "sites", "some-id", ...more], env, typed);
    expect(ran.code).toBe(code);
    expect(ran.stderr.includes("Delete some-id of sites?")).toBe(more.length === 0 && typed !== null);
  });
});

describe("without a terminal", () => {
  // Every call that arrives is refused: a command that continues exits with 1.
  let server: Server;
  const calls: string[] = [];
  const env = { MUSTER_API_KEY: "svc_x", MUSTER_URL: "" };
  beforeAll(async () => {
    server = createServer((request, response) => {
      calls.push(request.method ?? "");
      response.writeHead(409, { "content-type": "application/json" }).end('{"error":"Refused","code":"conflict"}');
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    env.MUSTER_URL = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  afterEach(() => void calls.splice(0));

  /** Each command that changes something, by its operation. */
  const commands: [operation: string, args: string[]][] = [
    ...resources.flatMap(({ name, path, verbs }): [string, string[]][] => [
      ...(verbs.includes("create") ? [[`POST ${path}`, ["create", name]] as [string, string[]]] : []),
      ...(verbs.includes("update") ? [[`PATCH ${path}/{id}`, ["update", name, "some-id"]] as [string, string[]]] : []),
      ...(verbs.includes("delete") ? [[`DELETE ${path}/{id}`, ["delete", name, "some-id"]] as [string, string[]]] : []),
    ]),
    ["POST /api/v1/api-keys/{id}/rotate", ["keys", "rotate", "some-id"]],
    ["POST /api/v1/service-principals/{id}/rotate", ["keys", "rotate", "some-id", "--kind", "principal"]],
    ["POST /api/v1/enrollment-keys/{id}/rotate", ["keys", "rotate", "some-id", "--kind", "enrollment"]],
    ["POST /api/v1/webhooks/{id}/rotate-secret", ["keys", "rotate", "some-id", "--kind", "webhook", "--grace", "60"]],
    ["POST /api/v1/directories/{id}/tokens", ["directory", "rotate-token", "some-id"]],
    ["DELETE /api/v1/directories/{id}/tokens", ["directory", "revoke-tokens", "some-id"]],
    ["POST /api/v1/directories/{id}/status", ["directory", "pause", "some-id"]],
    ["POST /api/v1/webhooks/event-types", ["webhooks", "event-types", "create", "custom.a", "description=A"]],
    ["PATCH /api/v1/webhooks/event-types", ["webhooks", "event-types", "update", "custom.a", "archived:=true"]],
  ];
  const isGuarded = (operation: string) => (access[operation]?.effects ?? []).length > 0;

  it.each(commands.filter(([operation]) => isGuarded(operation)))("%s is refused, unless --yes", async (name, args) => {
    const refused = await muster(args, env);
    expect([refused.code, refused.stdout]).toEqual([2, ""]);
    expect(refused.stderr).toContain(`muster: ${name} `);
    expect(refused.stderr).toContain("without a terminal it needs --yes");
    expect(calls).toEqual([]);
    expect([(await muster([...args, "--yes"], env)).code, calls.length]).toEqual([1, 1]);
  });

  it.each(commands.filter(([operation]) => !isGuarded(operation)))("%s is done", async (_name, args) => {
    expect([(await muster(args, env)).code, calls.length]).toEqual([1, 1]);
  });

  it("the guarded ones are those that delete, and those that show a secret", () => {
    const names = commands.filter(([operation]) => isGuarded(operation)).map(([, args]) => args.slice(0, 2).join(" "));
    for (const name of ["create api-keys", "create users", "create audit-streams", "keys rotate", "delete sessions"]) {
      expect(names).toContain(name);
    }
    for (const { name, verbs } of resources) if (verbs.includes("delete")) expect(names).toContain(`delete ${name}`);
    expect(names.filter((name) => name.startsWith("update"))).toEqual([]);
  });

  it("every operation of the table is one of the API", () => {
    for (const [operation] of commands)
      expect([operation, Object.hasOwn(access, operation)]).toEqual([operation, true]);
  });
});

describe("an exit code", () => {
  it.each<[number, string, number]>([
    [400, "validation_failed", 1],
    [409, "key_not_active", 1],
    [401, "token_expired", 3],
    [403, "permission_denied", 4],
    [404, "device_not_found", 5],
    [429, "rate_limited", 6],
    [503, "network_error", 6],
    [500, "internal", 6],
  ])("for %d %s is %d", (status, code, exit) => {
    expect(exitCodeOf(status, code)).toBe(exit);
  });

  it("is 3 without a session, and standard error says how to sign in", async () => {
    const { code, stderr } = await muster(["whoami"], { MUSTER_URL: "http://127.0.0.1:1/api/v1/" });
    expect([code, stderr]).toEqual([
      3,
      expect.stringContaining("not signed in at http://127.0.0.1:1: run `muster login`"),
    ]);
  });
});

describe("an error of the API", () => {
  let server: Server | null = null;
  afterEach(() => {
    server?.closeAllConnections();
    server?.close();
  });
  const body = {
    error: "Invalid request",
    code: "validation_failed",
    requestId: "r-1",
    details: { formErrors: [], fieldErrors: { timezone: ["An IANA time zone"] } },
  };
  const answering = async (listener: RequestListener) => {
    server = createServer(listener);
    await new Promise<void>((resolve) => server?.listen(0, "127.0.0.1", resolve));
    return { MUSTER_API_KEY: "svc_x", MUSTER_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
  };
  const json = { "content-type": "application/json" };
  const refusing = () => answering((_request, response) => response.writeHead(400, json).end(JSON.stringify(body)));

  it("is shown with its code, request id and errors by field", async () => {
    const { code, stdout, stderr } = await muster(["create", "sites", "timezone=Mars"], await refusing());
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toBe("muster: Invalid request (validation_failed, request r-1)\n  timezone: An IANA time zone\n");
  });

  it.each<[string, object, string]>([
    ["the permission that it requires", { required: "devices:write" }, "  required: devices:write\n"],
    ["scopes of which one is enough", { requiredScopes: ["a:read", "a:write"] }, "  requiredScopes: a:read; a:write\n"],
    ["what failed, and why", { failed: [{ asset: "a.gz", reason: "wrong size" }] }, "  failed: a.gz: wrong size\n"],
  ])("is shown with %s", async (_what, facts, text) => {
    const error = { error: "Refused", code: "conflict", requestId: "r-1", ...facts };
    const env = await answering((_request, response) => response.writeHead(409, json).end(JSON.stringify(error)));
    const { stderr } = await muster(["whoami"], env);
    expect(stderr).toBe(`muster: Refused (conflict, request r-1)\n${text}`);
  });

  it("about a role says where roles are listed", async () => {
    const error = { error: "Validation failed", code: "validation_failed", requestId: "r-1" };
    const details = { formErrors: [], fieldErrors: { roleId: ["Required"] } };
    const env = await answering((_request, response) =>
      response.writeHead(400, json).end(JSON.stringify({ ...error, details })),
    );
    const { stderr } = await muster(["create", "users", "email=a@example.com", "--yes"], env);
    expect(stderr).toContain("roleId: Required\n`muster get roles` lists the roles");
  });

  it("is JSON on standard error with --json", async () => {
    const { code, stdout, stderr } = await muster(["create", "sites", "--json"], await refusing());
    expect([code, stdout, JSON.parse(stderr)]).toEqual([1, "", body]);
  });

  it("keeps a sign-in waiting while the deployment is starting", async () => {
    let requests = 0;
    const env = await answering((_request, response) => {
      requests += 1;
      const isServed = requests === 3;
      const code = isServed ? "invalid_credentials" : "unavailable";
      response.writeHead(isServed ? 401 : 503, { ...json, "retry-after": "0" });
      response.end(JSON.stringify({ error: code, code, requestId: "r-1" }));
    });
    const { code, stderr } = await muster(["login", "--email", "ada@example.com"], env, "a password");
    expect([code, requests]).toEqual([3, 3]);
    expect(stderr.match(/trying again/g)).toHaveLength(1);
    expect(stderr).toContain("invalid_credentials");
  });
});

describe("completion", () => {
  it.each<[string[], string[]]>([
    [["who"], ["whoami"]],
    [
      ["get", "device"],
      ["device-events", "device-groups", "device-logs", "devices"],
    ],
    [["create", "si"], ["sites"]],
    [["create", "dev"], ["device-groups"]],
    [
      ["get", "devices", "s"],
      ["siteId=", "status=", "serialNumber=", "seenAfter=", "seenBefore=", "search=", "sort="],
    ],
    [["get", "devices", "--li"], ["--limit"]],
    [["--json", "keys", "r"], ["rotate"]],
    [["keys", "rotate", "--k"], ["--kind"]],
    [
      ["completion", ""],
      ["bash", "zsh", "fish"],
    ],
  ])("after %j offers %j", (words, offered) => {
    expect(candidates(program, words as string[])).toEqual(offered);
  });
});

it("resources are listed in order, each once", () => {
  const names = resources.map(({ name }) => name);
  expect(names).toEqual([...new Set(names)].sort());
});
