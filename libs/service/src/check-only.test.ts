import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type TestNats, testNats } from "@muster/bus/testing";
import { type TestDatabase, testDatabase } from "@muster/db/testing";
import { createLogger } from "@muster/kit";
import { type ClusterCheck, clusterFailures } from "./check-only.ts";

const log = createLogger("check-test", "silent" as "fatal");
const web = createServer((request, response) => {
  response.writeHead(request.url === "/health" ? 200 : 503).end("answer");
});

let database: TestDatabase;
let nats: TestNats;
let address: string;
beforeAll(async () => {
  [database, nats] = await Promise.all([testDatabase({ service: "tenancy", dirs: [] }), testNats()]);
  await new Promise<void>((resolve) => web.listen(0, "127.0.0.1", resolve));
  address = `http://127.0.0.1:${(web.address() as AddressInfo).port}`;
});
afterAll(async () => {
  web.close();
  await Promise.all([database?.drop(), nats?.remove()]);
});

const check = (change: Partial<ClusterCheck["config"]> = {}, paths = ["/health"]) =>
  clusterFailures({
    service: "tenancy",
    schema: { dirs: [] },
    urls: paths.map((path) => `${address}${path}`),
    log,
    waitMs: 3_000,
    config: {
      DATABASE_URL_APP: database.appUrl,
      NATS_URL: nats.url,
      NATS_NKEY_SEED: nats.seeds.tenancy,
      LOG_LEVEL: "error",
      ...change,
    },
  });

describe("the check of a cluster", () => {
  it("finds nothing where all of it works", async () => {
    expect(await check()).toEqual({});
  });

  it("names each part that does not work, and tries the others all the same", async () => {
    const failures = await check({ NATS_NKEY_SEED: nats.seeds.audit }, ["/health", "/login"]);
    expect(failures).toEqual({
      nats: expect.any(String),
      [`${address}/login`]: "answered 503",
    });
  });

  it("ends when neither PostgreSQL nor NATS is there", async () => {
    const away = { DATABASE_URL_APP: "postgres://muster@127.0.0.1:1/muster", NATS_URL: "nats://127.0.0.1:1" };
    expect(Object.keys(await check(away, []))).toEqual(["postgresql", "nats"]);
  });
});
