import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, it } from "@jest/globals";
import { createSigner, type Signer } from "@muster/rpc";
import { callers, type WireTls, wireSmoke } from "@muster/testing";
import type { Cluster, StackFile } from "../support/cluster.ts";
import { sharedCluster } from "../support/shared-cluster.ts";

let cluster: Cluster;
let stack: StackFile;
let signer: Signer;
beforeAll(async () => {
  cluster = await sharedCluster();
  stack = await cluster.stack();
  const secrets = await readFile(join(cluster.dataDir, "keys", "secrets.json"), "utf8");
  const { privateKey } = (JSON.parse(secrets) as { callers: Record<string, { privateKey: string }> }).callers
    .gateway as { privateKey: string };
  signer = createSigner({ issuer: "gateway", privateKeys: privateKey });
}, 180_000);

/** Of the gateway's own certificate, where the cluster speaks TLS (`npm run test:hardened`). */
async function tlsOf(rpc: string): Promise<WireTls | undefined> {
  if (!rpc.startsWith("https:")) return undefined;
  const file = (name: string) => readFile(join(cluster.dataDir, "keys", "tls", name));
  const [ca, cert, key] = await Promise.all([file("ca.pem"), file("gateway.pem"), file("gateway-key.pem")]);
  return { ca, cert, key };
}

describe("every service's RPC port", () => {
  it.each(["identity", "tenancy", "audit", "device-logs", "webhook-dispatcher", "agent-release"])(
    "answers stock Connect, gRPC and grpc-js clients: %s",
    async (name) => {
      const { rpc } = stack.services[name] as { rpc: string };
      await wireSmoke(rpc, {
        callerToken: await signer.tokenFor(callers.platformAdmin(), name),
        tls: await tlsOf(rpc),
      });
    },
  );
});
