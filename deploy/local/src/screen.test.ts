import { describe, expect, it } from "@jest/globals";
import { describeEnd } from "./child.ts";
import { variableOf } from "./database.ts";
import { readablePassword } from "./first-admin.ts";
import { restartWaitMs } from "./keep-running.ts";
import { instancesOf, mergeEnvironment, portNames } from "./programs.ts";
import { isWorker, parseReplicas } from "./replicas.ts";
import { readyScreen } from "./screen.ts";
import { describeStack, gatewayUrl, publicUrl } from "./stack-file.ts";

const facts = {
  gatewayUrls: ["http://127.0.0.1:3000", "http://127.0.0.1:3001"],
  consoleUrl: "http://localhost:3000",
  adminEmail: "admin@muster.local",
  adminPassword: null,
  dataDir: "/data",
  seconds: 4.25,
};

describe("the screen when all is ready", () => {
  it("shows every gateway, the logs and a first curl", () => {
    const text = readyScreen(facts);
    for (const part of [
      "Console  http://localhost:3000",
      "http://127.0.0.1:3000/api/v1",
      "http://127.0.0.1:3001",
      "/data/logs",
      "curl -s",
    ]) {
      expect(text).toContain(part);
    }
  });

  it("shows the first administrator's password only when there is one to show", () => {
    expect(readyScreen(facts)).not.toContain("Password ");
    expect(readyScreen({ ...facts, adminPassword: "abcde-fghjk" })).toContain("Password   abcde-fghjk");
  });
});

describe("a restart", () => {
  it("waits 0.2 s, doubling up to 10 s or a given limit", () => {
    expect([0, 1, 2, 5, 6, 100].map((n) => restartWaitMs(n))).toEqual([200, 400, 800, 6400, 10_000, 10_000]);
    expect([0, 1, 2, 100].map((n) => restartWaitMs(n, 300))).toEqual([200, 300, 300, 300]);
  });

  it("shows how a process ended, with the log's fatal line when it failed by itself", () => {
    expect(describeEnd(1, null, "start failed: no")).toBe("exit status 1, start failed: no");
    expect(describeEnd(null, "SIGKILL", "an older line")).toBe("killed by SIGKILL");
    expect(describeEnd(0, null, "an older line")).toBe("exit status 0");
  });
});

describe("what processes are given", () => {
  const replicas = parseReplicas("gateway=2,audit=2");
  const ports = Object.fromEntries(portNames(replicas).map((name, index) => [name, 20_000 + index]));
  const instances = instancesOf(replicas, 3000, ports);

  it("puts gateway n on PORT + n − 1 and everything else on its own port", () => {
    const gateways = instances.filter(({ program }) => program === "gateway");
    expect(gateways.map(({ name, port }) => [name, port])).toEqual([
      ["gateway", 3000],
      ["gateway-2", 3001],
    ]);
    const all = instances.flatMap(({ program, port, opsPort }) => (isWorker(program) ? [opsPort] : [port, opsPort]));
    expect(new Set(all).size).toBe(all.length);
    expect(all).not.toContain(0);
  });

  it("keeps npm's, PostgreSQL's and the supervisor's own variables from them, and files that contradict ours", () => {
    const theirs = {
      PATH: "/bin",
      LOG_LEVEL: "debug",
      PGPASSWORD: "x",
      npm_config_a: "x",
      MUSTER_DATA_DIR: "x",
      KEY_FILE: "x",
    };
    expect(mergeEnvironment(theirs, { KEY: "ours", LOG_LEVEL: "info" })).toEqual({
      PATH: "/bin",
      KEY: "ours",
      LOG_LEVEL: "info",
    });
  });

  it("writes all addresses and pids into stack.json", () => {
    const stack = describeStack({
      host: "0.0.0.0",
      instances,
      pidOf: (name) => (name === "audit-2" ? null : 7),
      databaseUrl: "postgres://x",
      natsUrl: "nats://x",
      ownPostgres: true,
      ownNats: false,
      natsServers: [],
      pooled: true,
      certificates: { ca: "/ca.pem", of: (name) => ({ cert: `/${name}.pem`, key: `/${name}-key.pem` }) },
      dataDir: "/data",
    });
    expect(stack.gateways[1]).toMatchObject({ url: "http://127.0.0.1:3001", pid: 7 });
    expect(Object.keys(stack.services)).toContain("audit-2");
    expect(stack.services["audit-2"]?.pid).toBeNull();
    expect(stack).toMatchObject({ postgres: { pid: 7 }, nats: null, natsServers: [], pgbouncer: { pid: 7 } });
    expect(stack.tls).toEqual({ ca: "/ca.pem", cert: "/gateway.pem", key: "/gateway-key.pem" });
    expect(stack.services.audit?.rpc).toMatch(/^https:/);
  });

  it("names roles.sql's variables after the roles", () => {
    expect(variableOf("muster_device_logs_app")).toBe("device_logs_app_password");
    expect(variableOf("muster_owner")).toBe("muster_owner_password");
  });

  it("reaches a gateway that listens everywhere by the loopback address", () => {
    expect([gatewayUrl("0.0.0.0", 1), gatewayUrl("::", 1), gatewayUrl("::1", 1)]).toEqual([
      "http://127.0.0.1:1",
      "http://[::1]:1",
      "http://[::1]:1",
    ]);
  });

  it("shows the address by name where it is this machine, since passkeys are created for names only", () => {
    expect(["127.0.0.1", "0.0.0.0", "::1", "10.0.0.7"].map((host) => publicUrl(host, 1))).toEqual([
      "http://localhost:1",
      "http://localhost:1",
      "http://localhost:1",
      "http://10.0.0.7:1",
    ]);
  });

  it("generates passwords of 25 unambiguous letters", () => {
    expect(readablePassword()).toMatch(/^([a-hj-km-np-z2-9]{5}-){4}[a-hj-km-np-z2-9]{5}$/);
    expect(readablePassword()).not.toBe(readablePassword());
  });
});
