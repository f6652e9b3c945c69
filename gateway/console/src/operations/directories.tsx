import type { ItemOf } from "@muster/client";
import { KeyRound, Pause, Pencil, Play, RotateCcwKey, Trash2, Waypoints } from "lucide-react";
import { api } from "../api/api.ts";
import { dataOf } from "../api/queries.ts";
import { toRecord } from "../parts/links.ts";
import { ChangeDirectory, RotateDirectoryToken } from "./change-directory.tsx";
import type { Operation } from "./record-operation.ts";

type Directory = ItemOf<"/api/v1/directories">;

const of = ({ id }: Directory) => ({ path: { id } });
const forgets = ["/api/v1/directories"] as const;

const become = (status: "active" | "paused") => async (directory: Directory) =>
  void (await dataOf(api.POST("/api/v1/directories/{id}/status", { params: of(directory), body: { status } })));

/** What can be done with a directory. */
export const directoryOperations: readonly Operation<Directory>[] = [
  {
    id: "directory.pause",
    verb: "Pause",
    needs: "POST /api/v1/directories/{id}/status",
    icon: Pause,
    shown: "button",
    isOffered: ({ status }) => status === "active",
    asks: {
      title: ({ name }) => `Pause ${name}?`,
      says: () => "Its requests are refused with 503, and its client repeats them later. Nobody's account changes.",
    },
    run: become("paused"),
    done: () => "The directory is paused.",
    forgets,
  },
  {
    id: "directory.resume",
    verb: "Resume",
    needs: "POST /api/v1/directories/{id}/status",
    icon: Play,
    shown: "primary",
    isOffered: ({ status }) => status === "paused",
    isNext: () => true,
    run: become("active"),
    done: () => "The directory is resumed.",
    forgets,
  },
  {
    id: "directory.rotate",
    verb: "Rotate token",
    needs: "POST /api/v1/directories/{id}/tokens",
    icon: RotateCcwKey,
    shown: "button",
    form: RotateDirectoryToken,
    forgets,
  },
  {
    id: "directory.mapping",
    verb: "Map groups",
    needs: "PUT /api/v1/directories/{id}/mappings",
    icon: Waypoints,
    isOnPage: true,
    leads: ({ id, orgId }) => toRecord("/settings/directories/$id", { id }, { orgId: orgId ?? undefined }),
    forgets: [],
  },
  {
    id: "directory.change",
    verb: "Change",
    needs: "PATCH /api/v1/directories/{id}",
    icon: Pencil,
    form: ChangeDirectory,
    forgets,
  },
  {
    id: "directory.revoke",
    verb: "Revoke tokens",
    needs: "DELETE /api/v1/directories/{id}/tokens",
    icon: KeyRound,
    tone: "danger",
    isOffered: ({ tokens }) => tokens.length > 0,
    asks: {
      title: ({ name }) => `Revoke every token of ${name}?`,
      says: () => "The directory is refused at once, until it has a new token.",
      typed: ({ name }) => name,
    },
    run: async (directory) =>
      void (await dataOf(api.DELETE("/api/v1/directories/{id}/tokens", { params: of(directory) }))),
    done: () => "No token is accepted any more.",
    forgets,
  },
  {
    id: "directory.delete",
    verb: "Delete",
    needs: "DELETE /api/v1/directories/{id}",
    icon: Trash2,
    tone: "danger",
    asks: {
      title: ({ name }) => `Delete ${name}?`,
      says: () => "Its people stay and are managed by hand from then on. Its groups and role mapping are deleted.",
      typed: ({ name }) => name,
    },
    run: async (directory) => void (await dataOf(api.DELETE("/api/v1/directories/{id}", { params: of(directory) }))),
    done: ({ name }) => `${name} is deleted.`,
    forgets,
    leaves: "/settings/directories",
  },
];
