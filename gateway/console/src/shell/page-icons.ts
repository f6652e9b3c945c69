import {
  Boxes,
  Building2,
  FileChartColumn,
  Globe,
  Handshake,
  History,
  Link2,
  ListTree,
  type LucideIcon,
  MapPin,
  Palette,
  Rocket,
  ShieldCheck,
  Siren,
  SquareArrowDown,
  Ticket,
  UsersRound,
  Waves,
  Workflow,
} from "lucide-react";
import type { ListPagePath } from "../parts/links.ts";

/** Pictures of pages that share an entry of the navigation, which the command menu shows one below another. */
const icons: Partial<Record<ListPagePath, LucideIcon>> = {
  "/groups": Boxes,
  "/releases/rollouts": Rocket,
  "/releases/templates": Waves,
  "/audit/reports": FileChartColumn,
  "/audit/alerts": Siren,
  "/audit/exports": SquareArrowDown,
  "/audit/retention": History,
  "/webhooks/event-types": ListTree,
  "/webhooks/portal-links": Link2,
  "/keys/principals": Workflow,
  "/keys/enrollment": Ticket,
  "/roles": UsersRound,
  "/sites": MapPin,
  "/partners": Handshake,
  "/settings/domains": Globe,
  "/settings/sign-in": ShieldCheck,
  "/settings/branding": Palette,
  "/settings/organization": Building2,
};

/** The picture of a page: its own, else that of its entry. */
export const iconOfPage = (path: ListPagePath, ofEntry: LucideIcon): LucideIcon => icons[path] ?? ofEntry;
