import type { ItemOf } from "@muster/client";
import { Pause, Pencil, Play, Trash2, UserRoundCheck } from "lucide-react";
import { api } from "../api/api.ts";
import { dataOf } from "../api/queries.ts";
import { ChangeAlert } from "./change-alert.tsx";
import type { Operation } from "./record-operation.ts";

type Alert = ItemOf<"/api/v1/audit-logs/alerts">;

const of = ({ id }: Alert) => ({ path: { id } });
const forgets = ["/api/v1/audit-logs/alerts"] as const;

const become = (status: "active" | "paused") => async (alert: Alert) =>
  void (await dataOf(api.PATCH("/api/v1/audit-logs/alerts/{id}", { params: of(alert), body: { status } })));

const inYourName = ({ name }: Alert) => `${name} is active, in your name.`;

/** What can be done with an alert of audit rows. */
export const alertOperations: readonly Operation<Alert>[] = [
  {
    id: "alert.pause",
    verb: "Pause",
    needs: "PATCH /api/v1/audit-logs/alerts/{id}",
    icon: Pause,
    isOffered: ({ status }) => status === "active",
    run: become("paused"),
    done: ({ name }) => `${name} is paused: rows of this time do not fire it.`,
    forgets,
  },
  {
    id: "alert.resume",
    verb: "Resume",
    needs: "PATCH /api/v1/audit-logs/alerts/{id}",
    icon: Play,
    isOffered: ({ status }) => status === "paused",
    run: become("active"),
    done: inYourName,
    forgets,
  },
  {
    // The account in whose name it fired may read these rows no more.
    id: "alert.take-over",
    verb: "Take over",
    needs: "PATCH /api/v1/audit-logs/alerts/{id}",
    icon: UserRoundCheck,
    isOffered: ({ status }) => status === "ended",
    run: become("active"),
    done: inYourName,
    forgets,
  },
  {
    id: "alert.change",
    verb: "Change",
    needs: "PATCH /api/v1/audit-logs/alerts/{id}",
    icon: Pencil,
    form: ChangeAlert,
    forgets,
  },
  {
    id: "alert.delete",
    verb: "Delete",
    needs: "DELETE /api/v1/audit-logs/alerts/{id}",
    icon: Trash2,
    tone: "danger",
    asks: {
      title: ({ name }) => `Delete ${name}?`,
      says: () => "Nobody is notified any more; what it has not sent yet is not sent.",
    },
    run: async (alert) => void (await dataOf(api.DELETE("/api/v1/audit-logs/alerts/{id}", { params: of(alert) }))),
    done: ({ name }) => `${name} is deleted.`,
    forgets,
  },
];
