import { type ChildProcess, fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Call } from "./administrator.ts";
import { endpointsOfTenant, type Tenant } from "./webhooks-e2e-load.ts";
// Types alone: the module is the receiver's program, and listens.
import type { Arrivals, ReceiverAsk } from "./webhooks-e2e-receiver.ts";

const receiverProgram = fileURLToPath(new URL("./webhooks-e2e-receiver.js", import.meta.url));

/** A tenant for each address of a receiver. */
export async function makeTenants(call: Call, receiverUrls: readonly string[]): Promise<Tenant[]> {
  const made = async (path: string, body: object) => {
    const reply = await call("POST", path, body);
    if (reply.status !== 201) throw new Error(`POST ${path} answered ${reply.status}: ${JSON.stringify(reply.body)}`);
    return reply.body;
  };
  const slug = () => `e2e-${randomUUID().slice(0, 8)}`;
  const partner = await made("/orgs/partners", { name: "Bench", slug: slug() });
  const tenants: Tenant[] = [];
  for (const [t, receiverUrl] of receiverUrls.entries()) {
    const org = await made("/orgs/organizations", { name: `T${t}`, slug: slug(), partnerId: partner.id });
    for (let e = 0; e < endpointsOfTenant; e++) {
      const url = `${receiverUrl}/${t}/${e}`;
      await made("/webhooks", { orgId: org.id, name: `E${e}`, url, secret: "top secret", events: ["device.online"] });
    }
    const wanted = { orgId: org.id, name: "Bench", scopes: ["events:write"], rateLimit: 100_000 };
    const { key } = await made("/api-keys", wanted);
    const prefix = `{"type":"device.online","orgId":"${org.id}","data":`;
    tenants.push({ headers: { "X-API-Key": String(key) }, prefix, suffix: "}" });
  }
  return tenants;
}

export type Receiver = {
  port: number;
  reset(run: string, hanging: readonly number[]): Promise<unknown>;
  arrivals(events: number): Promise<Arrivals>;
  stop(): void;
};

export async function startArrivalReceiver(): Promise<Receiver> {
  const child: ChildProcess = fork(receiverProgram, [], { serialization: "advanced" });
  const [{ port }] = (await once(child, "message")) as [{ port: number }];
  const ask = async <T>(message: ReceiverAsk): Promise<T> => {
    child.send(message);
    const [answer] = await once(child, "message");
    return answer as T;
  };
  return {
    port,
    reset: (run, hanging) => ask({ type: "reset", run, hanging }),
    arrivals: (events) => ask<Arrivals>({ type: "arrivals", events }),
    stop: () => void child.kill(),
  };
}
