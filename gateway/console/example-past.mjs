// Writes the past of the example fleet, which no API takes, into the database of a local stack: the counts of the fleet
// and the load of machines over 30 days. Only for pictures, only for the stack of a data folder.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { percentOf } from "./example-fleet.mjs";

const hours = 30 * 24;
const slots = 12;
const [hourMs, slotMs] = [3_600_000, 300_000];
const unknown = [null, null, null, null];
const everyone = "00000000-0000-0000-0000-000000000000";

/** Writes it for the agents of makeExampleData(). */
export async function makeExamplePast(dataDir, { orgId, partnerId, agents }) {
  const { databaseUrl } = JSON.parse(readFileSync(join(dataDir, "stack.json"), "utf8"));
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const now = Math.floor(Date.now() / hourMs);
  const own = agents.filter((agent) => agent.orgId === orgId);
  await client.query("SET search_path = tenancy");
  for (const [owner, total] of [
    [everyone, agents.length],
    [partnerId, agents.length],
    [orgId, own.length],
  ]) {
    for (let hour = now - hours; hour <= now; hour++) {
      const isOver = (slot) => hour < now || slot * slotMs <= Date.now() % hourMs;
      const counts = Array.from({ length: slots }, (_, slot) =>
        isOver(slot) ? countsAt(total, hour, slot, now) : unknown,
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
  await client.end();
}

/** Online, offline, updating and to approve, with nights, and an hour when a site was cut off. */
function countsAt(total, hour, slot, now) {
  const growth = Math.round((total * 0.04 * (now - hour)) / hours);
  const night = Math.round(total * 0.012 * (1 - Math.cos((((hour % 24) + slot / slots) / 24) * 2 * Math.PI)));
  const isCut = now - hour === 51 || now - hour === 52;
  const cut = isCut ? Math.round(total * 0.14) : 0;
  const updating = Math.round((total * (percentOf(`updating ${Math.floor(hour / 8)}`) % 3)) / 200);
  const offline = Math.round(total * 0.02) + night + cut;
  return [total - growth - offline - updating - 3, offline, updating, 3];
}

/** An hour's load, packed as services/tenancy/src/rules/metric-hours.ts reads it. */
function loadAt(hostname, hour) {
  const row = Buffer.alloc(1 + 3 * slots + slots + 9, 255);
  row[0] = 1;
  const day = Math.sin((((hour % 24) - 6) / 24) * 2 * Math.PI);
  const own = percentOf(hostname);
  const levels = [
    18 + 14 * Math.max(0, day) + (percentOf(`${hostname} ${hour}`) % 9),
    46 + 5 * day + (percentOf(`memory ${hostname} ${hour}`) % 4),
    52 + (own % 20) + (hour % 720) / 60,
  ];
  levels.forEach((level, metric) => {
    for (let slot = 0; slot < slots; slot++) {
      row[1 + metric * slots + slot] = Math.round((level + (percentOf(`${hour} ${slot} ${metric}`) % 5)) * 2);
    }
    row[1 + 4 * slots + 3 * metric] = Math.round((level - 2) * 2);
    row[2 + 4 * slots + 3 * metric] = Math.round((level + 2) * 2);
    row[3 + 4 * slots + 3 * metric] = Math.round((level + 6) * 2);
  });
  row.fill(5, 1 + 3 * slots, 1 + 4 * slots);
  return row;
}
