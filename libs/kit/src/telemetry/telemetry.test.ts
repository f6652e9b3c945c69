import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";

const kit = new URL("../../dist/", import.meta.url);
const loader = fileURLToPath(new URL("telemetry/telemetry.js", kit));

/** What the collector received, by path; the texts of a protobuf message are readable in it. */
const received = new Map<string, string>();
let arrived: () => void = () => {};
const collector = createServer((request, response) => {
  const parts: Buffer[] = [];
  request.on("data", (part) => parts.push(part));
  request.on("end", () => {
    received.set(
      request.url ?? "",
      `${received.get(request.url ?? "") ?? ""}${Buffer.concat(parts).toString("latin1")}`,
    );
    response.end();
    arrived();
  });
});
let endpoint: string;
beforeAll(async () => {
  collector.listen(0, "127.0.0.1");
  await once(collector, "listening");
  endpoint = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
});
afterAll(() => {
  collector.close();
});

const start = (script: string, env: Record<string, string>) =>
  spawn(process.execPath, ["--import", loader, "--input-type=module", "-e", script], {
    env: { PATH: process.env.PATH ?? "", ...env },
    stdio: ["ignore", "ignore", "pipe"],
  });

describe("telemetry of a process", () => {
  it("exports spans and the metrics of Prometheus, as an instance of its own", async () => {
    const both = new Promise<void>((resolve) => {
      arrived = () => {
        if (
          received.get("/v1/traces")?.includes("a span") &&
          received.get("/v1/metrics")?.includes("muster_build_info")
        )
          resolve();
      };
    });
    const child = start(
      `const kit = await import(${JSON.stringify(new URL("index.js", kit).href)});
       const metrics = await import(${JSON.stringify(new URL("telemetry/metrics.js", kit).href)});
       metrics.startDefaultMetrics("1.2.3");
       kit.startServerSpan(kit.activeTracer(), "a span", {}, null).end();
       setInterval(() => undefined, 1000);`,
      {
        OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
        OTEL_EXPORTER_OTLP_PROTOCOL: "http/protobuf",
        OTEL_METRICS_EXPORTER: "otlp",
        OTEL_METRIC_EXPORT_INTERVAL: "1000",
        OTEL_TRACES_SAMPLER_ARG: "1",
        OTEL_BSP_SCHEDULE_DELAY: "200",
        OTEL_SERVICE_NAME: "muster-test",
      },
    );
    await both;
    child.kill();
    for (const path of ["/v1/traces", "/v1/metrics"]) {
      expect(received.get(path)).toContain("service.instance.id");
      expect(received.get(path)).toContain("muster-test");
    }
    expect(received.get("/v1/metrics")).toContain("1.2.3");
  });

  it.each([
    [{ OTEL_TRACES_SAMPLER_ARG: "5%" }, "OTEL_TRACES_SAMPLER_ARG"],
    [{ OTEL_EXPORTER_OTLP_PROTOCOL: "http/json" }, "OTEL_EXPORTER_OTLP_PROTOCOL"],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: "collector:4317" }, "OTEL_EXPORTER_OTLP_ENDPOINT"],
    [{ OTEL_METRICS_EXPORTER: "prometheus" }, "OTEL_METRICS_EXPORTER"],
  ])("ends the process by name where %j cannot be read", async (env, name) => {
    const child = start("throw new Error('started')", { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, ...env });
    let text = "";
    child.stderr.on("data", (part) => {
      text += part;
    });
    const [status] = await once(child, "close");
    expect({ status, text }).toEqual({ status: 1, text: expect.stringContaining(`- ${name}: `) });
    expect(text).not.toContain("started");
  });
});
