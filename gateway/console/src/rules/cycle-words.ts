import { counted } from "./counted.ts";

type Cycle = { requests: number; refused: number; created: number; changed: number; deleted: number };

/** How many requests of a directory's last cycle were refused. */
export const refusedWords = ({ requests, refused }: Pick<Cycle, "requests" | "refused">): string =>
  refused === 0
    ? `none of ${requests.toLocaleString()}`
    : `${refused.toLocaleString()} of ${counted(requests, "requests")}`;

/** What a directory's last cycle did, in words. */
export function cycleWords({ created, changed, deleted }: Cycle): string {
  const done = [
    [created, "created"],
    [changed, "changed"],
    [deleted, "deleted"],
  ] as const;
  const said = done.filter(([count]) => count > 0).map(([count, what]) => `${count.toLocaleString()} ${what}`);
  return said.length > 0 ? said.join(", ") : "nothing changed";
}
