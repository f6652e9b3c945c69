import { Link2, Unlink } from "lucide-react";
import { api } from "../api/api.ts";
import { type BodyOf, dataOf } from "../api/queries.ts";
import type { Operation } from "./record-operation.ts";

type Option = BodyOf<"/api/v1/sso/link/options">["data"][number];

const of = ({ id }: Option) => ({ path: { providerId: id } });
const forgets = ["/api/v1/sso/link/options"] as const;

/** What people can do with an identity provider that may open their account. */
export const linkOperations: readonly Operation<Option>[] = [
  {
    id: "link.make",
    verb: "Link",
    needs: "POST /api/v1/sso/link/start/{providerId}",
    icon: Link2,
    isOffered: ({ linked }) => !linked,
    run: async (option) => {
      const { authUrl } = await dataOf(api.POST("/api/v1/sso/link/start/{providerId}", { params: of(option) }));
      location.assign(authUrl);
      return undefined;
    },
    forgets,
  },
  {
    id: "link.end",
    verb: "Unlink",
    needs: "DELETE /api/v1/sso/link/{providerId}",
    icon: Unlink,
    isOffered: ({ linked }) => linked,
    asks: {
      title: ({ name }) => `Unlink ${name}?`,
      says: () => "You cannot sign in through it any more, unless you link it again.",
    },
    run: async (option) => void (await dataOf(api.DELETE("/api/v1/sso/link/{providerId}", { params: of(option) }))),
    done: ({ name }) => `${name} no longer opens your account.`,
    forgets,
  },
];
