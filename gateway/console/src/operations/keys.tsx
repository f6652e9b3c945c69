import type { ItemOf } from "@muster/client";
import { CircleOff, Pencil, RotateCcwKey } from "lucide-react";
import { api } from "../api/api.ts";
import { dataOf } from "../api/queries.ts";
import { isKeyUnused, keyEndsSoon } from "../rules/health.ts";
import { ChangeKey } from "./change-key.tsx";
import type { Operation } from "./record-operation.ts";
import { RotateKey } from "./rotate-key.tsx";

type Key = ItemOf<"/api/v1/api-keys">;

const of = ({ id }: Key) => ({ path: { id } });
const forgets = ["/api/v1/api-keys"] as const;
const isOffered = ({ status }: Key) => status === "active";

/** What can be done with an API key. */
export const keyOperations: readonly Operation<Key>[] = [
  {
    id: "key.change",
    verb: "Change",
    needs: "PATCH /api/v1/api-keys/{id}",
    icon: Pencil,
    isOffered,
    form: ChangeKey,
    forgets,
  },
  {
    id: "key.rotate",
    verb: "Rotate",
    needs: "POST /api/v1/api-keys/{id}/rotate",
    icon: RotateCcwKey,
    isOffered,
    isNext: (key) => keyEndsSoon(key, new Date()),
    form: RotateKey,
    forgets,
  },
  {
    id: "key.revoke",
    verb: "Revoke",
    alsoCalled: ["Delete"],
    needs: "DELETE /api/v1/api-keys/{id}",
    icon: CircleOff,
    tone: "danger",
    isOffered,
    isNext: (key) => isKeyUnused(key, new Date()),
    asks: {
      title: ({ name }) => `Revoke ${name}?`,
      says: () => "The key is refused at once and permanently.",
      typed: ({ name }) => name,
    },
    run: async (key) => void (await dataOf(api.DELETE("/api/v1/api-keys/{id}", { params: of(key) }))),
    done: ({ name }) => `${name} is revoked.`,
    forgets,
  },
];
