import { randomBytes } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { openDatabase } from "@muster/db";
import { createLogger, secretBox, systemCaller } from "@muster/kit";
import { reencrypt } from "@muster/service";
import { testKeys } from "../testing/dispatcher.ts";
import { ownDispatcher } from "../testing/own-dispatcher.ts";
import { sealedColumns } from "./sealed-columns.ts";

const { dispatcher, receiver } = ownDispatcher();

const log = createLogger("sealed-columns-test", "fatal");
const who = { caller: systemCaller("webhook-dispatcher") };

describe("re-encryption", () => {
  it("knows every sealed column of the schema", async () => {
    const rows = await dispatcher.rows<{ name: string }>(
      `SELECT table_name || '.' || column_name AS name FROM information_schema.columns
       WHERE table_schema = current_schema() AND column_name LIKE '%_sealed' ORDER BY 1`,
    );
    const listed = sealedColumns.map(({ table, column }) => `${table}.${column}`);
    expect(listed).toEqual(expect.arrayContaining(rows.map(({ name }) => name)));
    expect(rows).toHaveLength(6);
  });

  it("leaves nothing of a webhook under the older key", async () => {
    const { admin } = await dispatcher.organization();
    const headers = [{ key: "X-Key", value: "hidden" }];
    const webhook = await dispatcher.webhook(admin, receiver, { secret: "one", headers, asymmetricSignature: true });
    await dispatcher.webhooks(admin).rotateWebhookSecret({ id: webhook.id });
    await dispatcher.webhooks(admin).rotateWebhookSigningKey({ id: webhook.id });
    const newer = `k2:${randomBytes(32).toString("base64")}`;
    const owner = openDatabase({ url: dispatcher.database.ownerUrl, max: 2, name: "webhook-dispatcher", log });
    const keys = `${newer},${testKeys}`;
    expect(await reencrypt({ db: owner, keys, columns: sealedColumns, log })).toMatchObject({ resealed: 6 });
    for (const { table, key, column, purpose, location } of sealedColumns) {
      const box = secretBox(newer, purpose);
      const held = await owner.read<Record<string, Buffer | string | null>>(who, {
        text: `SELECT * FROM ${table}`,
        values: [],
      });
      for (const row of held) {
        const envelope = row[column];
        if (envelope instanceof Buffer) box.open(envelope, location(key.map(([name]) => String(row[name]))));
      }
    }
    await owner.close();
  });
});
