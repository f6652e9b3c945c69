/** What the process has done, and what came of it. */
export type Figures = {
  count(name: string, by?: number): void;
  /** Milliseconds that a heartbeat took. */
  took(ms: number): void;
  total(name: string): number;
  /** All of them by name. */
  totals(): ReadonlyMap<string, number>;
  /** One line since the last one, and the latencies of that time. */
  line(state: Record<string, number>): string;
};

const keptMax = 20_000;

export function createFigures(nowMs: () => number = () => performance.now()): Figures {
  const totals = new Map<string, number>();
  let before = new Map<string, number>();
  let latencies: number[] = [];
  let lastMs = nowMs();
  const startedMs = lastMs;

  return {
    count: (name, by = 1) => void totals.set(name, (totals.get(name) ?? 0) + by),
    took(ms) {
      if (latencies.length < keptMax) latencies.push(ms);
    },
    total: (name) => totals.get(name) ?? 0,
    totals: () => new Map(totals),
    line(state) {
      const atMs = nowMs();
      const seconds = Math.max(0.001, (atMs - lastMs) / 1000);
      const parts = Object.entries(state).map(([name, value]) => `${name} ${value}`);
      for (const [name, value] of [...totals].sort(([a], [b]) => (a < b ? -1 : 1))) {
        const more = value - (before.get(name) ?? 0);
        parts.push(`${name} ${value}${more > 0 ? ` (+${(more / seconds).toFixed(1)}/s)` : ""}`);
      }
      if (latencies.length > 0) {
        latencies.sort((a, b) => a - b);
        const at = (share: number) =>
          latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? 0;
        parts.push(`heartbeat p50 ${at(0.5).toFixed(0)} ms p99 ${at(0.99).toFixed(0)} ms`);
      }
      before = new Map(totals);
      latencies = [];
      lastMs = atMs;
      return `${((atMs - startedMs) / 1000).toFixed(0)} s: ${parts.join(", ")}`;
    },
  };
}
