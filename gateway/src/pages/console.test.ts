import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliCompressSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { createLogger } from "@muster/kit";
import { createConsole } from "./console.ts";
import { createLogoOrigin } from "./logo-origin.ts";
import { createPortalPolicy } from "./portal-policy.ts";

const log = createLogger("test", "fatal");
const folder = mkdtempSync(join(tmpdir(), "muster-console-"));
const servers: Server[] = [];

beforeAll(() => {
  mkdirSync(join(folder, "assets"));
  writeFileSync(
    join(folder, "paths.json"),
    JSON.stringify({ app: ["", "devices"], signIn: ["login"], portal: ["portal"] }),
  );
  writeFileSync(join(folder, "index.html"), "<!doctype html>app");
  writeFileSync(join(folder, "sign-in.html"), "<!doctype html>sign-in");
  writeFileSync(join(folder, "portal.html"), "<!doctype html>portal");
  writeFileSync(join(folder, "assets/app-1a2b.js"), "export {}");
  writeFileSync(join(folder, "assets/app-1a2b.js.br"), brotliCompressSync("export {}"));
});

afterAll(async () => {
  for (const server of servers) await new Promise((resolve) => server.close(resolve));
  rmSync(folder, { recursive: true });
});

type PortalPolicyOf = ReturnType<typeof createPortalPolicy>;

/** The pages behind a test server: what they do not serve is 599. */
async function serving(
  change: { appUrl?: string; logoOrigin?: () => Promise<string | null>; portalPolicy?: PortalPolicyOf } = {},
) {
  const publicUrl = "https://muster.example";
  const closed = { logoOrigin: async () => null, portalPolicy: async () => ({ embedOrigins: [], imageOrigin: null }) };
  const pages = createConsole({ folder, publicUrl, appUrl: publicUrl, ...closed, log, ...change });
  const server = createServer((request, response) => {
    const path = (request.url ?? "").split("?")[0] ?? "";
    if (pages?.serves(request.method ?? "", path)) pages.handler(request, response);
    else response.writeHead(599).end();
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return (path: string, init: RequestInit = {}) => fetch(`${base}${path}`, { redirect: "manual", ...init });
}

describe("the console's pages", () => {
  it.each([
    ["/", "app"],
    ["/devices", "app"],
    ["/devices/018f/logs?x=1", "app"],
    ["/login?next=/devices", "sign-in"],
  ])("%s is the entry %s, never cached, under a policy without exceptions", async (path, entry) => {
    const get = await serving();
    const reply = await get(path);
    expect([reply.status, await reply.text()]).toEqual([200, `<!doctype html>${entry}`]);
    expect(reply.headers.get("cache-control")).toBe("no-cache");
    const policy = reply.headers.get("content-security-policy") ?? "";
    expect(policy).toContain("script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data:;");
    expect(policy).toContain("require-trusted-types-for 'script'; trusted-types 'none'");
    expect(policy).not.toContain("unsafe");
    expect(reply.headers.get("cross-origin-opener-policy")).toBe("same-origin");
    expect(reply.headers.get("referrer-policy")).toBe("no-referrer");
    expect(reply.headers.get("x-content-type-options")).toBe("nosniff");
  });

  it("are served for GET and HEAD only, and for the first path segments that the build lists", async () => {
    const get = await serving();
    expect((await get("/devices", { method: "POST", body: "x" })).status).toBe(599);
    expect((await get("/unknown")).status).toBe(599);
    expect((await get("/paths.json")).status).toBe(599);
    expect((await get("/devices", { method: "HEAD" })).status).toBe(200);
  });

  it("end the one reply, not the process, whose file went away after the start", async () => {
    const file = join(folder, "assets/fleeting-3c.js");
    writeFileSync(file, "export {}");
    const get = await serving();
    rmSync(file);
    await expect(get("/assets/fleeting-3c.js").then((reply) => reply.text())).rejects.toThrow();
    expect((await get("/assets/app-1a2b.js")).status).toBe(200);
  });

  it("cache hashed files for a year, compressed by the build", async () => {
    const get = await serving();
    const reply = await get("/assets/app-1a2b.js", { headers: { "accept-encoding": "br" } });
    expect([reply.headers.get("content-encoding"), await reply.text()]).toEqual(["br", "export {}"]);
    expect(reply.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
    const missing = await get("/assets/gone-9f.js");
    expect([missing.status, ((await missing.json()) as { code: string }).code]).toEqual([404, "not_found"]);
    expect(missing.headers.get("cache-control")).toBe("no-store");
  });

  it("redirect to an app on another origin", async () => {
    const get = await serving({ appUrl: "https://app.example/ui" });
    const reply = await get("/login?error=sso_error&reason=idp_error");
    expect([reply.status, reply.headers.get("location")]).toEqual([
      302,
      "https://app.example/ui/login?error=sso_error&reason=idp_error",
    ]);
  });

  it("permit the sign-in page's logo from exactly the branding's origin", async () => {
    const get = await serving({ logoOrigin: async () => "https://cdn.acme.example" });
    const policyOf = async (path: string) => (await get(path)).headers.get("content-security-policy") ?? "";
    expect(await policyOf("/login")).toContain("img-src 'self' data: https://cdn.acme.example;");
    expect(await policyOf("/devices")).toContain("img-src 'self' data:;");
  });

  it("are absent without a build", () => {
    const portalPolicy = async () => ({ embedOrigins: [], imageOrigin: null });
    const addresses = { publicUrl: "http://a.example", appUrl: "http://a.example" };
    const options = { ...addresses, logoOrigin: async () => null, portalPolicy, log };
    expect(createConsole({ folder: join(folder, "nowhere"), ...options })).toBeNull();
  });
});

describe("the origin of a logo", () => {
  it("is looked up once per half minute, and is none while identity is unavailable or its host fits no policy", async () => {
    let now = 0;
    const answers: (string | Error)[] = ["https://a.example/l.png", new Error("away"), "https://a;sandbox/l.png"];
    const logoOrigin = createLogoOrigin({
      async logoUrl() {
        const next = answers.shift();
        if (next instanceof Error) throw next;
        return next ?? "";
      },
      now: () => now,
      log,
    });
    expect([await logoOrigin(), await logoOrigin()]).toEqual(["https://a.example", "https://a.example"]);
    now = 31_000;
    expect(await logoOrigin()).toBeNull();
    now = 62_000;
    expect(await logoOrigin()).toBeNull();
  });
});

describe("the page of a portal link", () => {
  const linkId = "018f6f1e-7c2a-7b3d-9e4f-0a1b2c3d4e5f";
  const framedBy = (reply: Response) =>
    /frame-ancestors ([^;]*)/.exec(reply.headers.get("content-security-policy") ?? "")?.[1];

  it("is framed by the link's origins alone, and with an unknown link it is the same page framed by none", async () => {
    const requested: string[] = [];
    const page = async (id: string) => {
      requested.push(id);
      const embedOrigins = id === linkId ? ["https://a.example.com", "https://b.example.com:8443"] : [];
      return { embedOrigins, logoUrl: id === linkId ? "https://logo.example.com/a.png" : "" };
    };
    const get = await serving({ portalPolicy: createPortalPolicy({ page, log }) });
    const embedded = await get(`/portal/${linkId.toUpperCase()}`);
    expect(framedBy(embedded)).toBe("https://a.example.com https://b.example.com:8443");
    expect(embedded.headers.get("content-security-policy")).toContain("img-src 'self' data: https://logo.example.com;");
    expect(embedded.headers.get("x-frame-options")).toBeNull();
    const text = await embedded.text();
    for (const path of [`/portal/${linkId.replace("018f", "018e")}`, "/portal/x", "/portal", `/portal/${linkId};x`]) {
      const reply = await get(path);
      expect([reply.status, framedBy(reply), await reply.text()]).toEqual([200, "'none'", text]);
    }
    await get(`/portal/${linkId}`);
    expect(requested.filter((id) => id === linkId)).toHaveLength(1);
  });

  it("is framed by none while links cannot be looked up, and is served where the app is elsewhere", async () => {
    const page = () => Promise.reject(new Error("away"));
    const get = await serving({ portalPolicy: createPortalPolicy({ page, log }), appUrl: "https://app.example" });
    const reply = await get(`/portal/${linkId}`);
    expect([reply.status, framedBy(reply)]).toEqual([200, "'none'"]);
  });
});
