// Writes the past of the example fleet, which no API takes, into the database of a local stack: the counts of the fleet
// and the load of machines over 30 days, and what people did in a fortnight. Only for pictures, only for the stack of a
// data folder.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { pastAudit } from "./example-audit.mjs";
import { pastDeliveries } from "./example-deliveries.mjs";
import { isSilent, loadOf, percentOf } from "./example-fleet.mjs";
import { pastRecords } from "./example-records.mjs";
import { insertRegular } from "./example-regular.mjs";

const hours = 30 * 24;
const slots = 12;
const [hourMs, slotMs] = [3_600_000, 300_000];
const unknown = [null, null, null, null];
const everyone = "00000000-0000-0000-0000-000000000000";

/** Writes it for the agents of makeExampleData(). */
export async function makeExamplePast(dataDir, example) {
  const { orgId, partnerId, agents } = example;
  const { databaseUrl } = JSON.parse(readFileSync(join(dataDir, "stack.json"), "utf8"));
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const now = Math.floor(Date.now() / hourMs);
  const own = agents.filter((agent) => agent.orgId === orgId);
  await client.query("SET search_path = tenancy");
  for (const [owner, machines] of [
    [everyone, agents],
    [partnerId, agents],
    [orgId, own],
  ]) {
    const counted = { total: machines.length, silent: machines.filter(isSilent).length };
    for (let hour = now - hours; hour <= now; hour++) {
      const isOver = (slot) => hour < now || slot * slotMs <= Date.now() % hourMs;
      const counts = Array.from({ length: slots }, (_, slot) =>
        isOver(slot) ? countsAt(counted, hour, slot, now) : unknown,
      ).flat();
      await client.query(
        "INSERT INTO device_history (owner_id, hour, counts) VALUES ($1, $2, $3) ON CONFLICT (owner_id, hour) DO UPDATE SET counts = excluded.counts",
        [owner, hour, counts],
      );
    }
  }
  for (const { id, hostname } of own.slice(0, 12)) {
    for (let hour = now - hours; hour < now; hour++) {
      await client.query("INSERT INTO device_metrics (device_id, hour, packed) VALUES ($1, $2, $3)", [
        id,
        hour,
        loadAt(hostname, hour),
      ]);
    }
  }
  await pastPresence(client, agents.filter(isSilent));
  await pastAudit(client, example);
  await pastDeliveries(client);
  await pastRecords(client, orgId);
  await insertRegular(client, example);
  await client.end();
}

/** When machines that are off were last seen, those of a site together: some minutes to some weeks ago. */
async function pastPresence(client, silent) {
  const minutes = silent.map(({ hostname }) =>
    Math.round(7 + (percentOf(`away ${hostname.slice(0, 7)}`) / 100) ** 4 * 40_000),
  );
  await client.query(
    `UPDATE devices SET last_seen_at = now() - make_interval(mins => away.minutes),
                        created_at = created_at - interval '60 days'
     FROM unnest($1::uuid[], $2::int[]) AS away (id, minutes) WHERE devices.id = away.id`,
    [silent.map(({ id }) => id), minutes],
  );
}

/**
 * Online, offline, updating and to approve, with nights, and an hour when a site was cut off. It ends with the fleet as
 * it is.
 */
function countsAt({ total, silent }, hour, slot, now) {
  const growth = Math.round((total * 0.04 * (now - hour)) / hours);
  const isPast = Math.min(1, (now - hour) / 12);
  const night = Math.round(total * 0.012 * isPast * (1 - Math.cos((((hour % 24) + slot / slots) / 24) * 2 * Math.PI)));
  const isCut = now - hour === 51 || now - hour === 52;
  const cut = isCut ? Math.round(total * 0.14) : 0;
  const updating = Math.round((isPast * total * (percentOf(`updating ${Math.floor(hour / 8)}`) % 3)) / 200);
  const offline = silent + night + cut;
  return [total - growth - offline - updating - 3, offline, updating, 3];
}

/** An hour's load, packed as services/tenancy/src/rules/metric-hours.ts reads it: slots, then least, mean, most. */
function loadAt(hostname, hour) {
  const row = Buffer.alloc(1 + 3 * slots + slots + 9, 255);
  row[0] = 1;
  const halves = (percent) => Math.round(percent * 2);
  const loads = Array.from({ length: slots }, (_, slot) => loadOf(hostname, hour * hourMs + slot * slotMs));
  for (let metric = 0; metric < 3; metric++) {
    const values = loads.map((load) => load[metric]);
    values.forEach((value, slot) => {
      row[1 + metric * slots + slot] = halves(value);
    });
    const mean = values.reduce((sum, value) => sum + value, 0) / slots;
    row[1 + 4 * slots + 3 * metric] = halves(Math.min(...values));
    row[2 + 4 * slots + 3 * metric] = halves(mean);
    row[3 + 4 * slots + 3 * metric] = halves(Math.max(...values));
  }
  row.fill(5, 1 + 3 * slots, 1 + 4 * slots);
  return row;
}
