import {
  Building2,
  KeyRound,
  Laptop,
  Layers,
  LogIn,
  type LucideIcon,
  MapPin,
  PackageCheck,
  ScrollText,
  Users,
  Webhook,
} from "lucide-react";

const icons: readonly (readonly [RegExp, LucideIcon])[] = [
  [/^site/, MapPin],
  [/^device_group/, Layers],
  [/^(device|agent\b)/, Laptop],
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
