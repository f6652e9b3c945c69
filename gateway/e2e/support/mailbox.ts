import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { until } from "@muster/testing";
import { api } from "./client.ts";
import type { Cluster } from "./cluster.ts";

/** How many links to set a new password were mailed to an address. */
export async function resetMailsTo(cluster: Cluster, email: string): Promise<number> {
  const folder = join(cluster.dataDir, "mail");
  const names = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith("-password_reset.txt"));
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), "utf8")));
  return texts.filter((text) => text.includes(`<${email}>`)).length;
}

/** The token of the newest link to set a new password in the local stack's development mailbox, once it has come. */
export async function resetTokenOf(cluster: Cluster, email: string): Promise<string> {
  const folder = join(cluster.dataDir, "mail");
  return until(`a link for ${email}`, async () => {
    const names = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith("-password_reset.txt"));
    for (const name of names.sort().reverse()) {
      const text = await readFile(join(folder, name), "utf8");
      const [, token] = /reset-password#token=(\S+)/.exec(text) ?? [];
      if (token && text.includes(`<${email}>`)) return token;
    }
    return null;
  });
}

/** Proves a user's address by a link for a new password, which is the one they have. Their sessions end. */
export async function proveMailbox(cluster: Cluster, who: { email: string; password: string }): Promise<void> {
  const by = api(cluster);
  await by.call("POST", "/auth/forgot-password", { email: who.email });
  const token = await resetTokenOf(cluster, who.email);
  const reset = await by.call("POST", "/auth/reset-password", { token, password: who.password });
  if (reset.status !== 200) throw new Error(`the reset answered ${reset.status}: ${JSON.stringify(reset.body)}`);
}
