import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, jest, test } from "@jest/globals";
import { parse } from "yaml";
import { clusterKeys } from "./cluster-keys.ts";
import { root } from "./config.ts";

const folder = mkdtempSync(join(tmpdir(), "muster-keys-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const make = () => {
  const out = jest.spyOn(process.stdout, "write").mockReturnValue(true);
  clusterKeys([folder]);
  out.mockRestore();
  const { items } = JSON.parse(readFileSync(join(folder, "secrets.json"), "utf8"));
  return Object.fromEntries(
    items.map((each: { metadata: { name: string }; stringData?: object }) => [each.metadata.name, each.stringData]),
  ) as Record<string, Record<string, string> | undefined>;
};

/** The table that the chart's templates read. */
function workloads(): Record<string, { service: string; role?: string; secrets: string[] }> {
  const text = readFileSync(join(root, "charts/muster/templates/_workloads.tpl"), "utf8");
  return parse(/define "muster.workloads" -}}\n([\s\S]*?)\n{{- end/.exec(text)?.[1] ?? "");
}

test("every Secret that the chart asks for is made, with every key", () => {
  const made = make();
  const names = Object.keys(workloads());
  expect(names).toHaveLength(9);
  for (const [name, { service, role, secrets }] of Object.entries(workloads())) {
    const secret = made[`muster-${name.startsWith("webhook-") ? "webhook-dispatcher" : name}`];
    expect(Object.keys(secret ?? {})).toEqual(expect.arrayContaining(secrets));
    if (role) expect(Object.keys(made[`muster-${service}-owner`] ?? {})).toEqual(["DATABASE_PASSWORD"]);
  }
  expect(made).toHaveProperty("muster-callers");
});

test("keys that were made stay, and only their owner reads them", () => {
  expect(make()).toEqual(make());
  for (const name of ["keys.json", "secrets.json", "demo.json", "backup.json", "roles.sql"])
    expect(statSync(join(folder, name)).mode & 0o77).toBe(0);
});

test("the demo's Secrets have what its PostgreSQL and NATS read at their start", () => {
  make();
  const { items } = JSON.parse(readFileSync(join(folder, "demo.json"), "utf8"));
  const [postgres, nats] = items;
  expect(postgres.metadata.name).toBe("muster-demo-postgres");
  expect(postgres.stringData["roles.sql"]).toBe(readFileSync(join(folder, "roles.sql"), "utf8"));
  expect(
    Object.entries(nats.stringData)
      .map(([name, key]) => `${name}=${key}\n`)
      .join(""),
  ).toBe(readFileSync(join(folder, "nats.env"), "utf8"));
  const wanted = readFileSync(join(root, "deploy/nats/permissions.conf"), "utf8").matchAll(/\$(NKEY_[A-Z_]+)/g);
  for (const [, name] of wanted) expect(nats.stringData).toHaveProperty(name ?? "");
});

test("no service's Secret holds another's password or key", () => {
  const { "muster-callers": _, ...secrets } = make();
  const perName = ["CALLER_PRIVATE_KEYS", "NATS_NKEY_SEED", "DATABASE_PASSWORD", "SECRET_ENCRYPTION_KEY"];
  const values = Object.values(secrets).flatMap((secret) => perName.flatMap((name) => secret?.[name] ?? []));
  expect(new Set(values).size).toBe(values.length);
});

test("a cluster that had one encryption key for all services keeps it in front of each service's own", () => {
  make();
  const file = join(folder, "keys.json");
  const { secretEncryptionKeys: _, ...kept } = JSON.parse(readFileSync(file, "utf8"));
  writeFileSync(file, JSON.stringify({ ...kept, secretEncryptionKey: "k1:older" }));
  const made = make();
  const lists = ["identity", "audit", "webhook-dispatcher"].map(
    (name) => made[`muster-${name}`]?.SECRET_ENCRYPTION_KEY,
  );
  for (const list of lists) expect(list).toMatch(/^k1:older,[0-9a-f]{6}:[A-Za-z0-9+/]{43}=$/);
  expect(new Set(lists).size).toBe(3);
  expect(make()).toEqual(made);
});
