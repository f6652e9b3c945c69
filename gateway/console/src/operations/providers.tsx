import type { ItemOf } from "@muster/client";
import { CircleCheck, CirclePause, FileBadge, FlaskConical, Pencil, Radio, Trash2 } from "lucide-react";
import { api } from "../api/api.ts";
import { dataOf } from "../api/queries.ts";
import { endsSoon } from "../rules/health.ts";
import { ChangeProvider } from "./change-provider.tsx";
import type { Operation } from "./record-operation.ts";

type Provider = ItemOf<"/api/v1/sso/providers">;

const of = ({ id }: Provider) => ({ path: { id } });
const forgets = ["/api/v1/sso/providers"] as const;

type Status = "active" | "testing" | "inactive";
const becoming = (status: Status, says: string, done: string) =>
  ({
    needs: "POST /api/v1/sso/providers/{id}/status",
    isOffered: (provider: Provider) => provider.status !== status,
    run: async (provider: Provider) =>
      void (await dataOf(api.POST("/api/v1/sso/providers/{id}/status", { params: of(provider), body: { status } }))),
    done: () => done,
    forgets,
    says: () => says,
  }) as const;

const activate = becoming("active", "People sign in through it from now on.", "The provider is active.");
const test = becoming(
  "testing",
  "Nobody can sign in through it. Administrators link their own account in their profile, which runs every check.",
  "The provider is being tested: link your account in your profile.",
);
const deactivate = becoming(
  "inactive",
  "Nobody can sign in through it any more; sessions continue. Passwords work again where it enforced single sign-on.",
  "The provider is inactive.",
);

/** What a provider waits for whose last certificate ends soon: the metadata with the next one. */
export const replaceCertificate: Operation<Provider> = {
  id: "provider.certificate",
  verb: "Replace certificate",
  needs: "PATCH /api/v1/sso/providers/{id}",
  icon: FileBadge,
  shown: "primary",
  isOffered: (provider) => endsSoon(provider, new Date()),
  isNext: () => true,
  form: ChangeProvider,
  forgets,
};

/** What can be done with an identity provider. */
export const providerOperations: readonly Operation<Provider>[] = [
  {
    id: "provider.activate",
    verb: "Activate",
    icon: CircleCheck,
    shown: "primary",
    asks: { title: ({ name }) => `Activate ${name}?`, says: activate.says },
    ...activate,
  },
  {
    id: "provider.check",
    verb: "Check connection",
    alsoCalled: ["Ask it"],
    needs: "POST /api/v1/sso/providers/{id}/test",
    icon: Radio,
    shown: "button",
    run: async (provider) => {
      const { issuer } = await dataOf(api.POST("/api/v1/sso/providers/{id}/test", { params: of(provider) }));
      return { says: `The provider answers${issuer ? ` as ${issuer}` : ""}. Nothing was changed.` };
    },
    forgets,
  },
  {
    id: "provider.change",
    verb: "Change",
    needs: "PATCH /api/v1/sso/providers/{id}",
    icon: Pencil,
    shown: "button",
    form: ChangeProvider,
    forgets,
  },
  {
    id: "provider.test",
    verb: "Set to testing",
    alsoCalled: ["Test it"],
    icon: FlaskConical,
    asks: { title: ({ name }) => `Test ${name}?`, says: test.says },
    ...test,
  },
  {
    id: "provider.deactivate",
    verb: "Deactivate",
    icon: CirclePause,
    asks: { title: ({ name }) => `Deactivate ${name}?`, says: deactivate.says },
    ...deactivate,
  },
  {
    id: "provider.delete",
    verb: "Delete",
    needs: "DELETE /api/v1/sso/providers/{id}",
    icon: Trash2,
    tone: "danger",
    asks: {
      title: ({ name }) => `Delete ${name}?`,
      says: () => "It is deleted with all links of accounts. People without a password need a link to set one.",
      typed: ({ name }) => name,
    },
    run: async (provider) => void (await dataOf(api.DELETE("/api/v1/sso/providers/{id}", { params: of(provider) }))),
    done: ({ name }) => `${name} is deleted.`,
    forgets,
    leaves: "/settings/sso",
  },
];
