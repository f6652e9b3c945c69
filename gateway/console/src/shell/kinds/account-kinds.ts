import { Fingerprint, MonitorSmartphone, ShieldCheck, Smartphone } from "lucide-react";
import { read } from "../../api/queries.ts";
import { to } from "../../parts/links.ts";
import { type Kind, kind } from "./kind.ts";

/** What belongs to one's own account. */
export const accountKinds: readonly Kind[] = [
  kind({
    noun: "session",
    group: "Your account",
    icon: MonitorSmartphone,
    path: "/api/v1/auth/sessions",
    isWhole: true,
    list: async ({ signal }) => {
      const { data } = await read("/api/v1/auth/sessions", { params: { query: { limit: "100" } } }, signal);
      return data;
    },
    operations: async () => (await import("../../operations/sessions.tsx")).sessionOperations,
    shown: ({ id, device, ipAddress }) => ({
      id,
      title: device,
      note: `session from ${ipAddress}`,
      link: to("/profile"),
    }),
  }),
  kind({
    noun: "passkey",
    group: "Your account",
    icon: Fingerprint,
    path: "/api/v1/auth/mfa/passkeys",
    isWhole: true,
    list: async ({ signal }) => (await read("/api/v1/auth/mfa/passkeys", {}, signal)).data,
    operations: async () => (await import("../../operations/factors.tsx")).passkeyOperations,
    shown: ({ id, name }) => ({ id, title: name, note: "passkey", link: to("/profile") }),
  }),
  kind({
    noun: "factor",
    group: "Your account",
    icon: Smartphone,
    path: "/api/v1/auth/mfa",
    isWhole: true,
    isSingle: true,
    list: async ({ signal }) => [await read("/api/v1/auth/mfa", {}, signal)],
    operations: async () => (await import("../../operations/factors.tsx")).factorOperations,
    shown: () => ({ id: "factors", title: "Your second factors", note: "profile", link: to("/profile") }),
  }),
  kind({
    noun: "link",
    group: "Your account",
    icon: ShieldCheck,
    path: "/api/v1/sso/link/options",
    isWhole: true,
    list: async ({ signal }) => (await read("/api/v1/sso/link/options", {}, signal)).data,
    operations: async () => (await import("../../operations/linked-providers.tsx")).linkOperations,
    shown: ({ id, name }) => ({ id, title: name, note: "your account's provider", link: to("/profile") }),
  }),
];
