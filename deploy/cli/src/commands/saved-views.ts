import type { MusterClient } from "@muster/client";
import { exits, Failure } from "../failure.ts";
import type { JsonObject } from "../fields.ts";

/** The filters of a saved view of a list, by its name or id; throws a Failure that names those that there are. */
export async function queryOfView(muster: MusterClient, list: string, wanted: string): Promise<JsonObject> {
  const names: string[] = [];
  for await (const { id, name, query, resource } of muster.pages("/api/v1/saved-views", {})) {
    if (resource !== list) continue;
    if (id === wanted || name === wanted) return { ...query };
    names.push(name);
  }
  const offer = names.length > 0 ? `; there are ${names.map((name) => `"${name}"`).join(", ")}` : "";
  throw new Failure(exits.missing, `no saved view "${wanted}" of ${list}${offer}`);
}
