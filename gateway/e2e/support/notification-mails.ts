import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Cluster } from "./cluster.ts";

/** Texts of mails of notifications to an address, in the local stack's development mailbox. */
export async function notificationMails(cluster: Cluster, email: string): Promise<string[]> {
  const folder = join(cluster.dataDir, "mail");
  const names = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith("-notification.txt"));
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), "utf8")));
  return texts.filter((text) => text.includes(`<${email}>`));
}
