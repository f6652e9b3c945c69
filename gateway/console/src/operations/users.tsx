import type { ItemOf } from "@muster/client";
import { CircleCheck, CircleOff, LogOut, Mail, Pencil, ShieldOff, Trash2 } from "lucide-react";
import { api } from "../api/api.ts";
import { dataOf } from "../api/queries.ts";
import { InviteLink } from "../parts/invite-link.tsx";
import { ChangeUser } from "./change-user.tsx";
import { type Operation, shown } from "./record-operation.ts";

type User = ItemOf<"/api/v1/users">;

const of = ({ id }: User) => ({ path: { id } });
const forgets = ["/api/v1/users"] as const;
const isDisabled = ({ status }: User) => status === "disabled";
const isActive = ({ status }: User) => status === "active";

/** What can be done with the account of another user. */
export const userOperations: readonly Operation<User>[] = [
  {
    id: "user.change",
    verb: "Change",
    needs: "PATCH /api/v1/users/{id}",
    icon: Pencil,
    shown: "button",
    form: ChangeUser,
    forgets,
  },
  {
    id: "user.invite",
    verb: "Invite again",
    needs: "POST /api/v1/users/{id}/invite",
    icon: Mail,
    shown: "button",
    isOffered: ({ status }) => status === "invited",
    isNext: () => true,
    asks: {
      title: ({ name }) => `Invite ${name} again?`,
      says: ({ email }) => `A new mail goes to ${email}; the links before stop working.`,
    },
    run: async (user) => {
      const invited = await dataOf(api.POST("/api/v1/users/{id}/invite", { params: of(user) }));
      return shown((close) => <InviteLink to={invited} onClose={close} />);
    },
    forgets,
  },
  {
    id: "user.enable",
    verb: "Enable",
    needs: "POST /api/v1/users/{id}/enable",
    icon: CircleCheck,
    shown: "button",
    isOffered: isDisabled,
    asks: { title: ({ name }) => `Enable ${name}?`, says: () => "The person may sign in again." },
    run: async (user) => void (await dataOf(api.POST("/api/v1/users/{id}/enable", { params: of(user) }))),
    done: () => "The person may sign in again.",
    forgets,
  },
  {
    id: "user.disable",
    verb: "Disable",
    alsoCalled: ["Lock out"],
    needs: "POST /api/v1/users/{id}/disable",
    icon: CircleOff,
    shown: "button",
    isOffered: isActive,
    asks: {
      title: ({ name }) => `Disable ${name}?`,
      says: () =>
        "Every session of the person ends at once, and signing in is refused. The account and its audit rows stay. API keys belong to their organization and go on: revoke those that the person knows.",
    },
    run: async (user) => void (await dataOf(api.POST("/api/v1/users/{id}/disable", { params: of(user) }))),
    done: () => "Every session of the person has ended.",
    forgets,
  },
  {
    id: "user.sessions",
    verb: "End sessions",
    needs: "DELETE /api/v1/users/{id}/sessions",
    icon: LogOut,
    asks: {
      title: ({ name }) => `End every session of ${name}?`,
      says: () => "The person is signed out everywhere at once, and may sign in again.",
    },
    run: async (user) => {
      const { ended } = await dataOf(api.DELETE("/api/v1/users/{id}/sessions", { params: of(user) }));
      return { says: `${ended.toLocaleString()} ${ended === 1 ? "session has" : "sessions have"} ended.` };
    },
    forgets,
  },
  {
    id: "user.factors",
    verb: "Reset second factors",
    needs: "DELETE /api/v1/users/{id}/factors",
    icon: ShieldOff,
    tone: "danger",
    isOffered: ({ mfaEnabled }) => mfaEnabled,
    asks: {
      title: ({ name }) => `Reset the second factors of ${name}?`,
      says: () =>
        "The authenticator app, all passkeys and the recovery codes are removed, and every session ends. The person is notified by mail, signs in with only the password and adds a new second factor: make sure that the request comes from them.",
      typed: ({ email }) => email,
    },
    run: async (user) => void (await dataOf(api.DELETE("/api/v1/users/{id}/factors", { params: of(user) }))),
    done: () => "The second factors are removed, and every session has ended.",
    forgets,
  },
  {
    id: "user.remove",
    verb: "Remove",
    needs: "DELETE /api/v1/users/{id}",
    icon: Trash2,
    tone: "danger",
    asks: {
      title: ({ name }) => `Remove ${name}?`,
      says: () => "The account is removed with its sessions and second factors. The person's audit rows stay.",
      typed: ({ email }) => email,
    },
    run: async (user) => void (await dataOf(api.DELETE("/api/v1/users/{id}", { params: of(user) }))),
    done: ({ name }) => `${name} is removed.`,
    forgets,
    leaves: "/people",
  },
];
