import type { ItemOf } from "@muster/client";
import { CircleX, Pause, Play, Send } from "lucide-react";
import { api } from "../api/api.ts";
import { dataOf } from "../api/queries.ts";
import { Dialog, DialogActions } from "../parts/dialog.tsx";
import { Facts } from "../parts/facts.tsx";
import { Status } from "../parts/status.tsx";
import { shownHealth } from "../rules/health.ts";
import { type Operation, shown } from "./record-operation.ts";

type Stream = ItemOf<"/api/v1/audit-logs/streams">;
type Answer = { accepted: boolean; status: number | null; error: string | null; answer: string };

const of = ({ id }: Stream) => ({ path: { id } });
const forgets = ["/api/v1/audit-logs/streams"] as const;

const become = (status: "active" | "paused") => async (stream: Stream) =>
  void (await dataOf(api.PATCH("/api/v1/audit-logs/streams/{id}", { params: of(stream), body: { status } })));

/** What can be done with a stream of audit rows. */
export const streamOperations: readonly Operation<Stream>[] = [
  {
    id: "stream.test",
    verb: "Send a test",
    needs: "POST /api/v1/audit-logs/streams/{id}/test",
    icon: Send,
    // Its answer says why it fails.
    isNext: (stream) => shownHealth(stream).tone === "bad",
    run: async (stream) => {
      const answer = await dataOf(api.POST("/api/v1/audit-logs/streams/{id}/test", { params: of(stream) }));
      return shown((close) => <TestAnswer of={answer} name={stream.name} onClose={close} />);
    },
    forgets,
  },
  {
    id: "stream.pause",
    verb: "Pause",
    needs: "PATCH /api/v1/audit-logs/streams/{id}",
    icon: Pause,
    isOffered: ({ status }) => status === "active",
    asks: {
      title: ({ name }) => `Pause ${name}?`,
      says: () => "It continues at its position: no row is skipped, as long as it is retained.",
    },
    run: become("paused"),
    done: ({ name }) => `${name} is paused.`,
    forgets,
  },
  {
    id: "stream.resume",
    verb: "Resume",
    needs: "PATCH /api/v1/audit-logs/streams/{id}",
    icon: Play,
    isOffered: ({ status }) => status !== "active",
    isNext: () => true,
    run: become("active"),
    done: ({ name }) => `${name} continues at its position.`,
    forgets,
  },
  {
    id: "stream.end",
    verb: "End",
    needs: "DELETE /api/v1/audit-logs/streams/{id}",
    icon: CircleX,
    tone: "danger",
    asks: {
      title: ({ name }) => `End ${name}?`,
      says: ({ lagRows }) =>
        `${lagRows.toLocaleString()} rows have not been sent; a new stream can begin at the first.`,
      typed: ({ name }) => name,
    },
    run: async (stream) => void (await dataOf(api.DELETE("/api/v1/audit-logs/streams/{id}", { params: of(stream) }))),
    done: ({ name }) => `${name} has ended.`,
    forgets,
  },
];

const TestAnswer = ({ of, name, onClose }: { of: Answer; name: string; onClose(): void }) => (
  <Dialog title={`The answer of ${name}`} onClose={onClose}>
    <p role="status">
      <Status of={of.accepted ? "success" : "failed"} as={of.accepted ? "accepted" : "not accepted"} /> The newest row
      was sent once more; the stream's position stays.
    </p>
    <Facts
      of={[
        ["Status", of.status === null ? null : String(of.status)],
        ["Error", of.error],
        ["Answer", of.answer ? <code key="answer">{of.answer}</code> : null],
      ]}
    />
    <DialogActions>
      <button type="button" data-weight="primary" onClick={onClose}>
        Close
      </button>
    </DialogActions>
  </Dialog>
);
