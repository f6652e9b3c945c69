import { KeyRound, RotateCcwKey, Smartphone, Trash2 } from "lucide-react";
import { api } from "../api/api.ts";
import { canUsePasskeys } from "../api/passkey.ts";
import { type BodyOf, dataOf } from "../api/queries.ts";
import { AddApp, AddPasskey, RecoveryCodes, RemoveApp } from "./change-factors.tsx";
import { type Operation, shown } from "./record-operation.ts";

type Factors = BodyOf<"/api/v1/auth/mfa">;
type Passkey = BodyOf<"/api/v1/auth/mfa/passkeys">["data"][number];

const forgets = ["/api/v1/auth/mfa", "/api/v1/auth/me"] as const;

/** Further second factors of one's own. */
export const addFactors: readonly Operation<Factors>[] = [
  {
    id: "factor.add-app",
    verb: "Add an authenticator app",
    needs: "POST /api/v1/auth/mfa/totp/setup",
    icon: Smartphone,
    shown: "button",
    isOffered: ({ totp }) => !totp,
    form: AddApp,
    forgets,
  },
  {
    id: "factor.add-passkey",
    verb: "Add a passkey",
    needs: "POST /api/v1/auth/mfa/passkeys/register/options",
    icon: KeyRound,
    shown: "button",
    isOffered: canUsePasskeys,
    form: AddPasskey,
    forgets,
  },
];

export const removeApp: Operation<Factors> = {
  id: "factor.remove-app",
  verb: "Remove the authenticator app",
  needs: "POST /api/v1/auth/mfa/totp/disable",
  icon: Trash2,
  isOffered: ({ totp }) => totp,
  form: RemoveApp,
  forgets,
};

/** What people can do with their own second factors. */
export const factorOperations: readonly Operation<Factors>[] = [...addFactors, removeApp];

/** New recovery codes instead of those that are left. */
export const newRecoveryCodes: Operation<Factors> = {
  id: "factor.recovery-codes",
  verb: "Make new ones",
  needs: "POST /api/v1/auth/mfa/recovery-codes",
  icon: RotateCcwKey,
  asks: { title: () => "Make new recovery codes?", says: () => "The codes that you have stop working." },
  run: async () => {
    const { recoveryCodes } = await dataOf(api.POST("/api/v1/auth/mfa/recovery-codes"));
    return shown((close) => <RecoveryCodes codes={recoveryCodes} onClose={close} />);
  },
  forgets,
};

/** What people can do with one of their passkeys. */
export const passkeyOperations: readonly Operation<Passkey>[] = [
  {
    id: "passkey.remove",
    verb: "Remove",
    needs: "DELETE /api/v1/auth/mfa/passkeys/{id}",
    icon: Trash2,
    tone: "danger",
    asks: {
      title: ({ name }) => `Remove ${name}?`,
      says: () => "It no longer opens your account. With the last factor the recovery codes are removed, too.",
    },
    run: async ({ id }) =>
      void (await dataOf(api.DELETE("/api/v1/auth/mfa/passkeys/{id}", { params: { path: { id } } }))),
    done: ({ name }) => `${name} is removed.`,
    forgets,
  },
];
