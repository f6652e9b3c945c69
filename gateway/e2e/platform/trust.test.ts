import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { createSigner, generateCallerKey } from "@muster/rpc";
import { callers, until } from "@muster/testing";
import { api, signIn } from "../support/client.ts";
import type { Cluster, StackFile } from "../support/cluster.ts";
import { rpcCall } from "../support/rpc-call.ts";
import { sharedCluster } from "../support/shared-cluster.ts";

type Keys = { callers: Record<string, { privateKey: string }>; nkeys: Record<string, { seed: string }> };

let cluster: Cluster;
let stack: StackFile;
let keys: Keys;
beforeAll(async () => {
  cluster = await sharedCluster();
  stack = await cluster.stack();
  keys = JSON.parse(await readFile(join(cluster.dataDir, "keys", "secrets.json"), "utf8")) as Keys;
}, 180_000);

const call = (service: string, method: string, body: object, token?: string) =>
  rpcCall(stack, service, method, body, token);

const listPartners = "muster.tenancy.v1.PartnerService/ListPartners";
const signerOf = (issuer: string, privateKeys = keys.callers[issuer]?.privateKey ?? "") =>
  createSigner({ issuer, privateKeys });

describe("an RPC port", () => {
  it("serves a user whose identity the gateway asserts", async () => {
    const token = await signerOf("gateway").tokenFor(callers.platformAdmin(), "tenancy");
    expect((await call("tenancy", listPartners, {}, token)).status).toBe(200);
  });

  it("stays shut without a caller token", async () => {
    expect(await call("tenancy", listPartners, {})).toMatchObject({ status: 401, body: { code: "unauthenticated" } });
  });

  it.each(["identity", "tenancy", "audit", "device-logs", "webhook-dispatcher", "agent-release"])(
    "does not believe %s about a person",
    async (issuer) => {
      const refused = await signerOf(issuer)
        .tokenFor(callers.platformAdmin(), "tenancy")
        .then(
          (token) => call("tenancy", listPartners, {}, token).then((r) => r.status),
          () => 401,
        );
      expect(refused).toBe(401);
    },
  );

  it.each(["gateway", "identity", "audit"])(
    "does not open to the service %s where it is not listed",
    async (issuer) => {
      const token = await signerOf(issuer).tokenFor(callers.service(issuer), "tenancy");
      expect(await call("tenancy", listPartners, {}, token)).toMatchObject({
        status: 403,
        body: { code: "permission_denied" },
      });
    },
  );

  it("does not take a token of a user for another service", async () => {
    for (const service of ["identity", "audit", "device-logs", "webhook-dispatcher", "agent-release"]) {
      const token = await signerOf("gateway").tokenFor(callers.platformAdmin(), service);
      expect((await call("tenancy", listPartners, {}, token)).status).toBe(401);
    }
  });

  it("rejects a token signed with an unknown key", async () => {
    const token = await signerOf("gateway", generateCallerKey().privateKey).tokenFor(
      callers.platformAdmin(),
      "tenancy",
    );
    expect((await call("tenancy", listPartners, {}, token)).status).toBe(401);
  });

  it("does not believe a token whose claims or signature were edited", async () => {
    const token = await signerOf("gateway").tokenFor(
      callers.partnerAdmin("01890000-0000-7000-8000-000000000001"),
      "tenancy",
    );
    const [head = "", claims = "", signature = ""] = token.split(".");
    const edited = Buffer.from(claims, "base64url").toString().replaceAll("partner", "system");
    const forged = [head, Buffer.from(edited).toString("base64url"), signature].join(".");
    const none = [Buffer.from('{"alg":"none"}').toString("base64url"), claims, ""].join(".");
    for (const bad of [forged, none, `${head}.${claims}.`, `${head}.${claims}.${"A".repeat(86)}`, "", "x"]) {
      expect((await call("tenancy", listPartners, {}, bad)).status).toBe(401);
    }
  });
});

describe("the front door", () => {
  it("takes nothing from public headers that look like ours", async () => {
    const token = await signerOf("gateway").tokenFor(callers.platformAdmin(), "tenancy");
    const headers = { "muster-caller": token, "muster-client-address": "203.0.113.9", "muster-request-id": "forged" };
    const anonymous = await api(cluster).call("GET", "/orgs/partners", undefined, headers);
    expect(anonymous.status).toBe(401);
    expect(anonymous.headers.get("x-request-id")).not.toBe("forged");
    const asBearer = await api(cluster, token).call("GET", "/orgs/partners");
    expect([asBearer.status, asBearer.body.code]).toEqual([401, "unauthenticated"]);
  });

  it("writes the socket's address into the audit trail, not one that a client claims", async () => {
    const root = api(cluster, (await signIn(cluster)).accessToken);
    const slug = `trust-${Date.now()}`;
    const { body } = await root.call(
      "POST",
      "/orgs/partners",
      { name: "Trust", slug },
      {
        "muster-client-address": "203.0.113.9",
        "x-forwarded-for": "203.0.113.9",
        "x-real-ip": "203.0.113.9",
      },
    );
    const row = await until("the audit row", async () => {
      const logs = await root.call("GET", `/audit-logs/logs?action=partner.create&resourceId=${body.id}`);
      const rows = (logs.body.data ?? []) as { resource: { id: string }; ipAddress: string }[];
      return rows.find((r) => r.resource.id === body.id);
    });
    expect(row.ipAddress).toBe("127.0.0.1");
  });
});
