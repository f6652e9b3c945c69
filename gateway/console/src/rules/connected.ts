type Count = { status: string; count: number };
type Connected = { online: number; total: number; tone: "warn" | "bad" | null };

/** Shares of devices that are not connected from which that is worth a look, and from which it is an outage. */
const [warnShare, badShare] = [0.1, 0.5];

/** How many devices are connected, of those that should be: neither decommissioned nor waiting for approval. */
export function connectedOf(counts: readonly Count[]): Connected {
  const of = (...states: string[]) =>
    counts.filter(({ status }) => states.includes(status)).reduce((sum, { count }) => sum + count, 0);
  const online = of("online", "updating");
  const total = online + of("offline");
  const away = total === 0 ? 0 : (total - online) / total;
  return { online, total, tone: away >= badShare ? "bad" : away >= warnShare ? "warn" : null };
}
