// The supervisor's child that prepares the database (database-work.ts). Ends when its channel does.
import type { DatabaseReply, DatabaseTask } from "./database-work.ts";
import { migrateServices } from "./migrate-services.ts";
import { prepareDatabase } from "./prepare-database.ts";
import { Problem } from "./problem.ts";

async function done(task: DatabaseTask): Promise<DatabaseReply> {
  try {
    if (task.kind === "prepare") return { result: await prepareDatabase(task.adminUrl, task) };
    await migrateServices(task.database);
    return { result: null };
  } catch (error) {
    if (error instanceof Problem) return { problem: error.message };
    return { error: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}

process.on("disconnect", () => process.exit());
process.on("message", async (task: DatabaseTask) => process.send?.(await done(task)));
