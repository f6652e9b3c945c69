import { linesOf } from "@muster/client";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState, useSyncExternalStore } from "react";
import { api } from "./api.ts";

/** A line of the API's streams; `id` of a device that changed. */
type Line = { kind: string; id?: string };

/**
 * Delay of the first read after a change, so that a burst is one request, and the minimum interval to the next read.
 */
const [soonMs, againMs] = [300, 10_000];
/** Minimum time from opening the page to the first such read, in milliseconds: what it shows was just read. */
const firstMs = 2_000;
/** Milliseconds until a stream is tried again: one whose time was up, and one that failed or that another tab has. */
const [nextMs, retryMs] = [1_000, 30_000];

/**
 * Reads the newest devices, or the open one, again as soon as the API reports a change; returns whether it does, so
 * that polls may slow down. One visible tab of a browser has the stream: connections of an origin are few.
 */
export function useDeviceChanges(orgId: string | undefined): boolean {
  const client = useQueryClient();
  const isVisible = useVisible();
  const [isCurrent, setCurrent] = useState(false);
  useEffect(() => {
    if (!isVisible) return;
    const leaving = new AbortController();
    const reading = rereading((ids) => {
      void client.invalidateQueries({
        predicate: ({ queryKey: [path, params, kind] }) =>
          (path === "/api/v1/devices" && kind !== "list" && isUncounted(params)) ||
          (path === "/api/v1/devices/{id}" && isOf(params, ids)),
      });
    });
    void follow(orgId, leaving.signal, (line) => {
      if (line === null) setCurrent(false);
      else if (line.kind === "current") {
        setCurrent(true);
        reading.changed(null);
      } else if (line.kind === "device" && line.id) reading.changed(line.id);
    });
    return () => {
      leaving.abort();
      reading.stop();
      setCurrent(false);
    };
  }, [client, orgId, isVisible]);
  return isCurrent;
}

type Params = { path?: { id?: string }; query?: { skipCount?: string } };

/** Whether a query is about one of the devices; null means all. */
const isOf = (params: unknown, ids: ReadonlySet<string> | null) =>
  ids === null || ids.has(String((params as Params).path?.id));

/** How many devices there are costs more than the newest of them. */
const isUncounted = (params: unknown) => (params as Params).query?.skipCount === "true";

/** Gathers what changed and reads it together. */
function rereading(read: (ids: ReadonlySet<string> | null) => void) {
  let ids: Set<string> | null = new Set<string>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let readAtMs = performance.now() + firstMs - againMs;
  return {
    changed(id: string | null) {
      if (id === null) ids = null;
      else ids?.add(id);
      timer ??= setTimeout(
        () => {
          timer = undefined;
          readAtMs = performance.now();
          read(ids);
          ids = new Set();
        },
        Math.max(soonMs, readAtMs + againMs - performance.now()),
      );
    },
    stop: () => clearTimeout(timer),
  };
}

/** Reports each line, and null whenever the stream ends, until aborted. */
async function follow(orgId: string | undefined, signal: AbortSignal, report: (line: Line | null) => void) {
  while (!signal.aborted) {
    const isWhole = await alone(() => streamed(orgId, signal, report)).catch(() => false);
    if (signal.aborted) return;
    report(null);
    await pause(isWhole ? nextMs : retryMs, signal);
  }
}

/** Whether the stream ended because its time was up. */
async function streamed(
  orgId: string | undefined,
  signal: AbortSignal,
  report: (line: Line) => void,
): Promise<boolean> {
  const params = { query: orgId ? { orgId } : {} };
  const { data } = await api.GET("/api/v1/devices/changes", { params, parseAs: "stream", signal });
  if (!data) return false;
  for await (const line of linesOf<Line>(data)) report(line);
  return true;
}

/** Only in one tab at a time; in no tab where tabs cannot coordinate (plain http beyond localhost). */
const alone = (work: () => Promise<boolean>): Promise<boolean> =>
  "locks" in navigator
    ? navigator.locks.request("muster.changes", { ifAvailable: true }, (lock) => (lock ? work() : false))
    : Promise.resolve(false);

/** Resolves after a time, or when aborted. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done);
  });
}

/** Whether this tab is visible. */
export function useVisible(): boolean {
  return useSyncExternalStore(
    (changed) => {
      document.addEventListener("visibilitychange", changed);
      return () => document.removeEventListener("visibilitychange", changed);
    },
    () => document.visibilityState === "visible",
  );
}
