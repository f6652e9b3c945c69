import {
  Building2,
  KeyRound,
  Laptop,
  LogIn,
  type LucideIcon,
  PackageCheck,
  ScrollText,
  Users,
  Webhook,
} from "lucide-react";

const icons: readonly (readonly [RegExp, LucideIcon])[] = [
  [/^(device|agent\b|site)/, Laptop],
  [/^(agent_update|agent_version|release)/, PackageCheck],
  [/^(api_key|service_principal|enrollment|portal_link)/, KeyRound],
  [/^(sso|mfa|directory|session)|\.log(in|out)/, LogIn],
  [/^(user|role)/, Users],
  [/^webhook/, Webhook],
  [/^(organization|partner)/, Building2],
];

/** The picture of what an action is about. */
export const iconOf = (action: string): LucideIcon =>
  icons.find(([pattern]) => pattern.test(action))?.[1] ?? ScrollText;
