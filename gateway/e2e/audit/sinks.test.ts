import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { until } from "@muster/testing";
import type { Api } from "../support/client.ts";
import type { Cluster } from "../support/cluster.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";
import { sharedCluster } from "../support/shared-cluster.ts";
import { enrollTotp, newOrganization, newPartner, signedInAs } from "../support/users.ts";

const patienceMs = 60_000;
let cluster: Cluster;
let receiver: Receiver;
let admin: Api;
beforeAll(async () => {
  cluster = await sharedCluster();
  receiver = await startReceiver(cluster);
  const partnerId = await newPartner(cluster);
  const user = await signedInAs(cluster, "org-admin", { partnerId, orgId: await newOrganization(cluster, partnerId) });
  await enrollTotp(user);
  admin = user.api;
}, 180_000);
afterAll(() => receiver?.close());

type Stream = Record<string, unknown> & { id: string };
const create = (change: object) =>
  admin.call("POST", "/audit-logs/streams", {
    name: "SIEM",
    type: "https",
    url: receiver.url,
    from: "start",
    ...change,
  });
const stateOf = async (id: string) => (await admin.call("GET", `/audit-logs/streams/${id}`)).body as Stream;
const end = (id: string) => admin.call("DELETE", `/audit-logs/streams/${id}`);
const withKey = (key: string) => receiver.received.filter(({ headers }) => headers.authorization === key);

describe("a stream to an HTTPS sink", () => {
  it("sends events of OCSF to Splunk's collector with its token, which is never shown", async () => {
    const key = "Splunk 11111111-2222-4333-8444-555555555555";
    const headers = [{ key: "Authorization", value: key }];
    const created = await create({ format: "ocsf", envelope: "splunk-hec", headers });
    expect([created.status, created.body]).toMatchObject([
      201,
      { type: "https", format: "ocsf", envelope: "splunk-hec", headerKeys: ["Authorization"], secretStrength: null },
    ]);
    const { id } = created.body as Stream;
    await until("a row", () => withKey(key).length > 0, patienceMs);
    const [first] = withKey(key);
    expect(first?.headers).toMatchObject({ "content-type": "application/json" });
    expect(first?.headers["webhook-signature"]).toBeUndefined();
    const events = (first?.body ?? "").split("\n").map((line) => JSON.parse(line));
    expect(events[0]).toMatchObject({
      sourcetype: "muster:ocsf",
      event: { metadata: { version: "1.5.0", sequence: 1 } },
    });
    const shown = [created.body, await stateOf(id), (await admin.call("GET", "/audit-logs/logs")).body];
    expect(JSON.stringify(shown)).not.toContain("11111111-2222");
    await end(id);
  }, 120_000);

  it("sends a batch again until the bulk API has taken every row, and its test shows what was answered", async () => {
    const key = "ApiKey bulk";
    let refuses = true;
    receiver.answer((_request, response) => {
      const items = [{ create: { status: 429, error: { type: "es_rejected_execution_exception" } } }];
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify(refuses ? { took: 1, errors: true, items } : { took: 1, errors: false, items: [] }));
    });
    const { id } = (await create({ envelope: "elastic-bulk", headers: [{ key: "Authorization", value: key }] }))
      .body as Stream;
    await until("a failure", async () => Number((await stateOf(id)).consecutiveFailures) > 0, patienceMs);
    expect(await stateOf(id)).toMatchObject({ cursorSeq: 0, lastError: expect.stringContaining("429") });
    const tried = await admin.call("POST", `/audit-logs/streams/${id}/test`);
    expect([tried.status, tried.body]).toMatchObject([
      200,
      { accepted: false, status: 200, answer: expect.stringContaining("es_rejected_execution_exception") },
    ]);
    refuses = false;
    expect((await admin.call("POST", `/audit-logs/streams/${id}/test`)).body).toMatchObject({
      accepted: true,
      error: null,
    });
    await until("all rows", async () => Number((await stateOf(id)).lagRows) === 0, patienceMs);
    const ids = withKey(key).map(
      ({ body }) => (JSON.parse(body.split("\n")[0] ?? "") as { create: { _id: string } }).create._id,
    );
    // The refused batch came again, as it was.
    expect(ids.filter((each) => each === ids[0]).length).toBeGreaterThan(1);
    receiver.answer((_request, response) => void response.end());
    await end(id);
  }, 120_000);

  it.each<[string, object, string]>([
    ["a reserved header", { headers: [{ key: "Host", value: "x" }] }, "headers.0.key"],
    ["a header twice", { headers: ["a", "A"].map((key) => ({ key, value: "x" })) }, "headers.1.key"],
    ["a secret", { secret: "sixteen characters" }, "secret"],
    ["no URL", { url: undefined }, "url"],
    ["an unknown envelope", { envelope: "xml" }, "envelope"],
    ["an envelope of another type", { type: "webhook", envelope: "array" }, "envelope"],
    [
      "a role that the operator has not enabled",
      {
        ...{ type: "s3", url: undefined },
        s3: { bucket: "acme", region: "eu-central-1", roleArn: "arn:aws:iam::123456789012:role/muster" },
      },
      "s3.roleArn",
    ],
    ["headers of another type", { type: "webhook", headers: [{ key: "A", value: "b" }] }, "headers"],
  ])("is refused with %s, by the name of the field", async (_, change, field) => {
    const { status, body } = await create(change);
    expect([status, Object.keys((body.details as { fieldErrors: object }).fieldErrors)]).toEqual([400, [field]]);
  });
});
