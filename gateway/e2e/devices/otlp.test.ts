import { gzipSync } from "node:zlib";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { StatusSchema } from "@muster/proto/google/rpc/status_pb";
import {
  ExportLogsServiceRequestSchema,
  ExportLogsServiceResponseSchema,
} from "@muster/proto/opentelemetry/proto/collector/logs/v1/logs_service_pb";
import { agentMaker, type TestAgent } from "../support/agent-maker.ts";
import { type Api, api, signIn } from "../support/client.ts";
import type { Cluster } from "../support/cluster.ts";
import { newTenant, type Tenant } from "../support/enroller.ts";
import { sharedCluster } from "../support/shared-cluster.ts";

let cluster: Cluster;
let root: Api;
let newAgent: (tenant: Tenant) => Promise<TestAgent>;
beforeAll(async () => {
  cluster = await sharedCluster();
  root = api(cluster, (await signIn(cluster)).accessToken);
  newAgent = await agentMaker(cluster);
}, 180_000);

const protobuf = "application/x-protobuf";
const nanoseconds = BigInt(Date.parse("2026-01-02T03:04:05.678Z")) * 1_000_000n;
const text = (value: string) => ({ value: { case: "stringValue" as const, value } });
const requestOf = (bodies: readonly string[]) =>
  toBinary(
    ExportLogsServiceRequestSchema,
    create(ExportLogsServiceRequestSchema, {
      resourceLogs: [
        {
          resource: { attributes: [{ key: "service.name", value: text("nginx") }] },
          scopeLogs: [{ logRecords: bodies.map((each) => ({ timeUnixNano: nanoseconds, body: text(each) })) }],
        },
      ],
    }),
  );

async function send(agent: TestAgent, body: Uint8Array | string, headers: Record<string, string> = {}) {
  const reply = await fetch(`${cluster.url}/api/v1/agents/${agent.deviceId}/otlp/v1/logs`, {
    method: "POST",
    headers: { authorization: `Bearer ${agent.token}`, "content-type": protobuf, ...headers },
    body: Buffer.from(body),
  });
  const type = reply.headers.get("content-type");
  return { status: reply.status, type, headers: reply.headers, bytes: new Uint8Array(await reply.arrayBuffer()) };
}

const jsonOf = (bytes: Uint8Array): unknown => JSON.parse(Buffer.from(bytes).toString());
const logsOf = async ({ deviceId }: TestAgent) =>
  (await root.call("GET", `/devices/${deviceId}/diagnostic-logs`)).body.data as Record<string, unknown>[];

describe("OTLP over HTTP", () => {
  it("stores records of protobuf, plain and as gzip, and answers in protobuf", async () => {
    const agent = await newAgent(await newTenant(root));
    const plain = await send(agent, requestOf(["one"]));
    const packed = await send(agent, gzipSync(requestOf(["two"])), { "content-encoding": "gzip" });
    for (const { status, type, bytes } of [plain, packed]) {
      expect([status, type]).toEqual([200, protobuf]);
      expect(fromBinary(ExportLogsServiceResponseSchema, bytes).partialSuccess).toBeUndefined();
    }
    const logs = await logsOf(agent);
    expect(logs.map(({ message }) => message).sort()).toEqual(["one", "two"]);
    expect(logs[0]).toMatchObject({ component: "nginx", level: "info", timestamp: "2026-01-02T03:04:05.678Z" });
  });

  it("reports what was refused in the encoding of the request", async () => {
    const agent = await newAgent(await newTenant(root));
    const { bytes } = await send(agent, requestOf(["short", "x".repeat(65_537)]));
    expect(fromBinary(ExportLogsServiceResponseSchema, bytes).partialSuccess).toMatchObject({
      rejectedLogRecords: 1n,
      errorMessage: "record 1: body: At most 65536 characters",
    });
    const logRecords = [{ body: { stringValue: "x".repeat(65_537) } }, { body: { stringValue: "in JSON" } }];
    const json = JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] });
    const reply = await send(agent, json, { "content-type": "application/json" });
    expect([reply.status, jsonOf(reply.bytes)]).toEqual([
      200,
      { partialSuccess: { rejectedLogRecords: "1", errorMessage: expect.stringContaining("record 0") } },
    ]);
    expect((await logsOf(agent)).map(({ message }) => message).sort()).toEqual(["in JSON", "short"]);
  });

  it("answers every failure with a Status that holds our code", async () => {
    const [agent, other] = await Promise.all([newTenant(root), newTenant(root)].map(async (t) => newAgent(await t)));
    if (!agent || !other) throw new Error("no agents");
    const isJson = { "content-type": "application/json" };
    const tooMany = requestOf(Array(5_001).fill("x"));
    const failures = [
      [await send(agent, tooMany), 400, 3, "validation_failed"],
      [await send(agent, "no protobuf"), 400, 3, "validation_failed"],
      [await send(agent, Buffer.alloc(4 * 1024 * 1024 + 1)), 413, 8, "payload_too_large"],
      [await send(agent, "x", { authorization: "Bearer agt_nothing" }), 401, 16, "agent_token_invalid"],
      [await send({ ...agent, deviceId: other.deviceId }, requestOf(["x"])), 404, 5, "agent_not_found"],
    ] as const;
    for (const [{ status, type, bytes }, expected, code, ours] of failures) {
      expect([status, type]).toEqual([expected, protobuf]);
      expect(fromBinary(StatusSchema, bytes)).toMatchObject({ code, message: expect.stringContaining(`${ours}: `) });
    }
    const { status, bytes } = await send(agent, '{"resourceLogs":7}', isJson);
    expect([status, jsonOf(bytes)]).toEqual([400, { code: 3, message: expect.stringContaining("validation_failed") }]);
    const asText = await send(agent, "x", { "content-type": "text/plain" });
    expect([asText.status, jsonOf(asText.bytes)]).toMatchObject([415, { code: 3 }]);
    expect(await logsOf(agent)).toEqual([]);
    expect(await logsOf(other)).toEqual([]);
  });
});
