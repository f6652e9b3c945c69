import { randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import { create, toBinary } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Bus, type Follower, openBus } from "@muster/bus";
import { createLogger } from "@muster/kit";
import {
  RoleChangedSchema,
  SessionRevokedSchema,
  TenantStatusChangedSchema,
  UserChangedSchema,
} from "@muster/proto/muster/events/v1/auth_pb";
import { type TestNats, testNats, until } from "@muster/testing";
import { type FakeServices, startFakeServices } from "../testing/fake-services.ts";
import { startTestGateway, type TestGateway } from "../testing/test-gateway.ts";
import { followAuthStream } from "./auth-stream.ts";

const log = createLogger("auth-stream-test", "fatal");

let nats: TestNats;
let services: FakeServices;
let identity: Bus;
const gateways: { gateway: TestGateway; bus: Bus; follower: Follower }[] = [];

beforeAll(async () => {
  nats = await testNats();
  services = await startFakeServices();
  const open = (name: "identity" | "gateway") =>
    openBus({ servers: nats.url, seed: nats.seeds[name], name, replicas: 1, log });
  identity = await open("identity");
  await identity.ensureStream("AUTH");
  for (let i = 0; i < 2; i++) {
    const gateway = await startTestGateway(services);
    const bus = await open("gateway");
    gateways.push({ gateway, bus, follower: followAuthStream(bus, gateway.changes) });
  }
});

afterAll(async () => {
  for (const { gateway, bus, follower } of gateways) {
    await follower.stop();
    await bus.close();
    await gateway.close();
  }
  await identity.close();
  await services.close();
  await nats.remove();
});

const codesFor = (token: string) =>
  Promise.all(
    gateways.map(async ({ gateway }) => {
      const reply = await fetch(`${gateway.url}/api/v1/auth/me`, { headers: { authorization: `Bearer ${token}` } });
      const body = (await reply.json()) as { code?: string };
      return body.code ?? reply.status;
    }),
  );

async function revoke(sessionId: string): Promise<void> {
  const body = toBinary(SessionRevokedSchema, create(SessionRevokedSchema, { sessionId }));
  await identity.transport.publish({ subject: "auth.session", msgId: `session/${randomUUID()}`, body });
}

describe("the AUTH stream", () => {
  it("removes a revoked session from every gateway, although identity would still answer that it is valid", async () => {
    const { token, principal } = await services.signIn();
    expect(await codesFor(token)).toEqual([200, 200]);
    await until("both gateways to refuse", async () => {
      // Again each time: a follower that has only just started starts at the end of the stream.
      await revoke(principal.sessionId);
      return (await codesFor(token)).every((code) => code === "session_revoked");
    });
    expect(await codesFor(token)).toEqual(["session_revoked", "session_revoked"]);
  });

  it("invalidates cached sessions of a changed user, role, partner or organization", async () => {
    const [partnerId, orgId] = [randomUUID(), randomUUID()];
    const { token, principal } = await services.signIn({ scope: "organization", partnerId, orgId, role: "Auditor" });
    const role = create(RoleChangedSchema, { roleId: randomUUID(), role: "Auditor", partnerId });
    const user = create(UserChangedSchema, { userId: principal.userId });
    const tenant = (kind: string, id: string) => create(TenantStatusChangedSchema, { kind, id });
    const say: [string, Uint8Array][] = [
      ["auth.user", toBinary(UserChangedSchema, user)],
      ["auth.role", toBinary(RoleChangedSchema, role)],
      ["auth.tenant", toBinary(TenantStatusChangedSchema, tenant("partner", partnerId))],
      ["auth.tenant", toBinary(TenantStatusChangedSchema, tenant("organization", orgId))],
    ];
    for (const [subject, body] of say) {
      expect(await codesFor(token)).toEqual([200, 200]);
      const before = gateways.map(({ gateway }) => gateway.sessions.size);
      await identity.transport.publish({ subject, msgId: `test/${randomUUID()}`, body });
      await until(`${subject} at both gateways`, () =>
        gateways.every(({ gateway }, index) => gateway.sessions.size === (before[index] ?? 0) - 1),
      );
    }
  });

  it("invalidates every session after it lost messages", async () => {
    const { token } = await services.signIn();
    expect(await codesFor(token)).toEqual([200, 200]);
    await nats.kill9();
    await rm(nats.storeDir, { recursive: true });
    await nats.start();
    await until(
      "both caches to be dropped",
      () => gateways.every(({ gateway }) => gateway.sessions.size === 0),
      30_000,
    );
    expect(await codesFor(token)).toEqual([200, 200]);
  });

  it("can be unavailable: heartbeats deliver the changes", async () => {
    const { token, principal } = await services.signIn();
    expect(await codesFor(token)).toEqual([200, 200]);
    await nats.kill9();
    const body = toBinary(SessionRevokedSchema, create(SessionRevokedSchema, { sessionId: principal.sessionId }));
    const acknowledged: string[] = [];
    services.edge.acknowledge = ({ changeIds }) => {
      acknowledged.push(...changeIds);
      return {};
    };
    services.edge.heartbeat = () => ({
      lease: durationFromMs(2_000),
      changes: [{ id: "change-1", subject: "auth.session", body }],
    });
    const startedMs = performance.now();
    await until("both gateways to refuse", async () =>
      (await codesFor(token)).every((code) => code === "session_revoked"),
    );
    expect(performance.now() - startedMs).toBeLessThan(1_500);
    await until("both acknowledgements", () => acknowledged.length >= 2);
    expect(acknowledged).toEqual(["change-1", "change-1"]);
    await nats.start();
  });
});
