import { linesOf } from "@muster/client";
import { useEffect, useRef, useState } from "react";
import { api } from "../../api/api.ts";
import { type Failure, unanswered } from "../../api/call.ts";
import { pause, useVisible } from "../../api/changes.ts";
import { dataOf, Failed } from "../../api/queries.ts";
import type { LiveEvent } from "./live-event.ts";

type Line =
  | { kind: "event"; event: LiveEvent }
  | { kind: "error"; code: string; error: string }
  | { kind: "following" | "skipped" | "alive" };

const [nextMs, retryMs] = [500, 5_000];
/** Most new events kept besides the page that was read; beyond them the page is read again. */
const keptMost = 400;

export type Followed = {
  id: string;
  log: string;
  level: LiveEvent["level"] | undefined;
  /** Number of the newest record that is shown; undefined while that is not known. */
  after: number | undefined;
  isOn: boolean;
  /** Events were skipped: the shown page must be read again. */
  onSkipped(): void;
};

/** Events that come to a log on the device while it is followed, newest first, and why none come. */
export function useFollowedEvents({ id, log, level, after, isOn, onSkipped }: Followed) {
  const [events, setEvents] = useState<readonly LiveEvent[]>([]);
  const [failure, setFailure] = useState<Failure | null>(null);
  const isVisible = useVisible();
  const hasStart = after !== undefined;
  const newest = useRef(0);
  newest.current = Math.max(after ?? 0, events[0]?.recordId ?? 0);
  const kept = useRef(0);
  kept.current = events.length;
  const skipped = useRef(onSkipped);
  skipped.current = onSkipped;
  useEffect(() => {
    if (!isOn || !isVisible || !hasStart) return;
    const leaving = new AbortController();
    const { signal } = leaving;
    const receive = (line: Line) => {
      if (line.kind === "error") return setFailure({ ...unanswered, code: line.code, error: line.error });
      setFailure(null);
      if (line.kind === "skipped" || kept.current >= keptMost) {
        setEvents([]);
        skipped.current();
      }
      if (line.kind === "event") setEvents((before) => [line.event, ...before]);
    };
    const once = async () => {
      const query = { after: String(newest.current), ...(level ? { level } : {}) };
      const params = { path: { id, name: log }, query };
      const following = api.GET("/api/v1/devices/{id}/eventlogs/{name}/follow", { params, parseAs: "stream", signal });
      for await (const line of linesOf<Line>(await dataOf(following))) receive(line);
    };
    void (async () => {
      while (!signal.aborted) {
        let failed: unknown = null;
        await once().catch((error: unknown) => {
          failed = error;
        });
        if (signal.aborted) return;
        if (failed !== null) setFailure(failed instanceof Failed ? failed.failure : unanswered);
        await pause(failed === null ? nextMs : retryMs, signal);
      }
    })();
    return () => leaving.abort();
  }, [id, log, level, isOn, isVisible, hasStart]);
  return { events, failure: isOn ? failure : null };
}
