import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { sql } from "@muster/db";
import { uuidv7 } from "@muster/kit";
import { RolloutService } from "@muster/proto/muster/release/v1/rollout_pb";
import { register } from "@muster/rpc";
import { callers, outcome, type TestPort, testPort } from "@muster/testing";
import { rolloutService } from "../rpc/rollout.ts";
import { startRelease, type TestRelease } from "../testing/release.ts";

let release: TestRelease;
let port: TestPort;
const countDevices = async () => ({ groups: [], unknownIds: [] });
beforeAll(async () => {
  release = await startRelease();
  const { db, now, plan, ramp } = release.deps;
  const rollouts = rolloutService({ db, now, plan, ramp, countDevices, stagedMax: 10, mfaMaxAgeMinutes: 10 });
  port = await testPort("agent-release", [register(RolloutService, rollouts)]);
});
afterAll(async () => {
  await port?.close();
  await release?.stop();
});

it("the devices and the progress of a rollout have each attempt once, also those of the same millisecond", async () => {
  const id = await release.stage("2.0.0");
  // Three attempts in each of four milliseconds; every second one has ended, a minute later.
  await release.execute(sql`
    INSERT INTO update_attempt (id, device_id, org_id, partner_id, component, release_id, version, rollout_id, from_version, state,
                                offered_at, deadline, ended_at, reason)
    SELECT gen_random_uuid(), gen_random_uuid(), ${uuidv7()}::uuid, ${uuidv7()}::uuid, 'agent', ${id}::uuid, '2.0.0', ${id}::uuid,
           i::text, CASE WHEN i % 2 = 0 THEN 'failed' ELSE 'offered' END, at, at,
           CASE WHEN i % 2 = 0 THEN at + interval '1 minute' END, 'silent'
    FROM generate_series(1, 12) AS i,
         LATERAL (SELECT date_trunc('hour', now() - interval '1 hour') + i * interval '333 microseconds' AS at) AS t`);
  const client = port.client(RolloutService, callers.platformAdmin({ permissions: ["agent-releases:read"] }));
  const seen: string[] = [];
  for (let cursor = ""; ; ) {
    const { attempts, page } = await client.listDevices({ id, page: cursor ? { limit: 5, cursor } : { limit: 5 } });
    seen.push(...attempts.map(({ fromVersion }) => fromVersion));
    cursor = page?.nextCursor ?? "";
    if (cursor === "") break;
  }
  expect(seen).toEqual(Array.from({ length: 12 }, (_, i) => String(12 - i)));
  const { buckets } = await client.getProgress({ id, bucketSeconds: 60 });
  expect(buckets.map(({ offered, returned, succeeded, failed }) => [offered, returned, succeeded, failed])).toEqual([
    [12, 0, 0, 0],
    [0, 0, 0, 6],
  ]);
  const foreign = Buffer.from(JSON.stringify(["soon", id])).toString("base64url");
  expect(await outcome(client.listDevices({ id, page: { cursor: foreign } }))).toBe("validation_failed cursor");
});
