import type { ItemOf } from "@muster/client";
import { LogOut } from "lucide-react";
import { api } from "../api/api.ts";
import { dataOf } from "../api/queries.ts";
import type { Chosen } from "./chosen.tsx";
import type { Operation } from "./record-operation.ts";

type Session = ItemOf<"/api/v1/auth/sessions">;

const forgets = ["/api/v1/auth/sessions"] as const;

/** What people can do with their other sessions. */
export const sessionOperations: readonly Operation<Session>[] = [
  {
    id: "session.end",
    verb: "End",
    alsoCalled: ["Revoke", "Sign out"],
    needs: "DELETE /api/v1/auth/sessions/{id}",
    icon: LogOut,
    isOffered: ({ current }) => !current,
    run: async ({ id }) => void (await dataOf(api.DELETE("/api/v1/auth/sessions/{id}", { params: { path: { id } } }))),
    done: ({ device }) => `The session of ${device} has ended.`,
    forgets,
  },
];

/** Ends every session of the user but this one. */
export const endOtherSessions: Operation<Chosen> = {
  id: "session.end-others",
  verb: "End all others",
  alsoCalled: ["End all other sessions", "Revoke sessions", "Sign out everywhere"],
  needs: "DELETE /api/v1/auth/sessions",
  icon: LogOut,
  shown: "button",
  run: async () => void (await dataOf(api.DELETE("/api/v1/auth/sessions"))),
  done: () => "Your other sessions have ended.",
  forgets,
};
