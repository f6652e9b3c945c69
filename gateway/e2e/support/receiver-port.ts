import { open, readFile, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { until } from "@muster/testing";
import type { Cluster } from "./cluster.ts";

/** One of the ports that the cluster's services may reach over HTTPS. Test files run beside each other: a port belongs to whoever made its file. */
export async function takeReceiverPort(cluster: Cluster): Promise<{ port: number; giveBack(): Promise<void> }> {
  const folder = dirname(cluster.dataDir);
  const ports = JSON.parse(await readFile(join(folder, "receivers.json"), "utf8")) as number[];
  const port = await until("a free port for a receiver", async () => {
    for (const each of ports) {
      try {
        await (await open(join(folder, `receiver-${each}`), "wx")).close();
        return each;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      }
    }
    return null;
  });
  return { port, giveBack: () => rm(join(folder, `receiver-${port}`)) };
}
